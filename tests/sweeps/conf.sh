#!/usr/bin/env bash
# Generated files that are checked in are what the sources make of them, and what a text names exists. TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
echo 1..3
check() { # N NAME STATUS
    if [ "$3" = 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; fi
}
diff -u conf/convshim.ini <(scripts/gen-conf) | sed 's/^/# /'
cmp -s conf/convshim.ini <(scripts/gen-conf)
check 1 "conf/convshim.ini is up to date (make conf)" $?
missing=$(scripts/gen-conf --markdown | grep -vxFf README.md)
printf '%s' "$missing" | sed 's/^/# /'
[ -z "$missing" ]
check 2 "the README's table of options is up to date (scripts/gen-conf --markdown)" $?
# shellcheck disable=SC2016 # a pattern
named=$(grep -o '`[a-z]*/[a-zA-Z/_.]*`' policies/README.md | tr -d '`' | sed 's|/NAME\.c$||' | xargs ls -d 2>&1 >/dev/null)
printf '%s' "$named" | sed 's/^/# /'
[ -z "$named" ] && [ "$(wc -l <policies/README.md)" -le 30 ] && [ "$(wc -l <tests/policies/example.c)" -le 40 ]
check 3 "policies/README.md has at most 30 lines, its example at most 40; what it names exists" $?
