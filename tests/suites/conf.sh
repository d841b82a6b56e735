#!/usr/bin/env bash
# Generated files that are checked in are what the sources make of them. TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
echo 1..2
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
