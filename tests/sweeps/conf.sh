#!/usr/bin/env bash
# Generated files that are checked in equal the generators' output, and names in texts exist. TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
echo 1..6
check() { # N NAME STATUS
    if [ "$3" = 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; fi
}
diff -u conf/convshim.ini <(scripts/gen-conf) | sed 's/^/# /'
cmp -s conf/convshim.ini <(scripts/gen-conf)
check 1 "conf/convshim.ini is up to date (make conf)" $?
diff -u docs/options.md <(scripts/gen-options) | sed 's/^/# /'
cmp -s docs/options.md <(scripts/gen-options)
check 2 "docs/options.md is up to date (make conf)" $?
# shellcheck disable=SC2016 # a pattern
named=$(grep -o '`[a-z]*/[a-zA-Z/_.]*`' policies/README.md | tr -d '`' | sed 's|/NAME\.c$||' | xargs ls -d 2>&1 >/dev/null)
printf '%s\n' "$named" | sed '/^$/d' | sed 's/^/# /'
[ -z "$named" ] && [ "$(wc -l <policies/README.md)" -le 30 ] && [ "$(wc -l <tests/policies/example.c)" -le 40 ]
check 3 "policies/README.md has at most 30 lines, its example at most 40; what it names exists" $?
links=$(for file in *.md docs/*.md docs/*/*.md tests/*.md policies/*.md; do
    grep -oE '\]\([^)#: ]+' "$file" | cut -c3- | sed "s|^|$(dirname "$file")/|"
done | sort -u | xargs ls -d 2>&1 >/dev/null)
printf '%s\n' "$links" | sed '/^$/d' | sed 's/^/# /'
[ -z "$links" ]
check 4 "what the documents link to exists" $?
# Those need NVIDIA's cudnn-frontend, a million calls.
slow=$(grep -L '^# bats test_tags=quick' tests/system/*.bats | grep -vE '/(cudnn_frontend|frameworks|soak)\.bats$')
printf '%s\n' "$slow" | sed '/^$/d' | sed 's/^/# /'
[ -z "$slow" ]
check 5 "every bats suite has a test for the short run" $?
unexplained=$(sed -n 's/^CS_REASON([A-Z_]*, "\(.*\)")$/\1/p' include/convshim/reasons.def | while read -r reason; do
    grep -qF "$reason" docs/reading-the-summary.md || echo "$reason"
done)
printf '%s\n' "$unexplained" | sed '/^$/d' | sed 's/^/# /'
[ -z "$unexplained" ]
check 6 "docs/reading-the-summary.md explains every reason" $?
