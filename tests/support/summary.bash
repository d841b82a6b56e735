# The library's counts, from the summary that it writes at exit. Tests read the JSON form (CONVSHIM_SUMMARY=json:PATH).
# The text form is for people, and only tests about the text depend on its words.
# shellcheck shell=bash

# summary_total WHAT FILE...: a number of the totals of each JSON summary, one a line: calls, tiled, not_tiled, extra
# (launches), fallback (calls on the fallback plan), failed, lanes (the most), required and reported (the largest
# workspace, bytes).
summary_total()
{
    local what=$1
    shift
    case $what in
        extra) what=extra_launches ;;
        required) what=required_max ;;
        reported) what=reported_max ;;
    esac
    # The library writes one part a line; of two members of one name the first is the part's own.
    awk -v what="$what" '
    function member(name, at) {
        at = index($0, "\"" name "\":")
        return at ? substr($0, at + length(name) + 3) + 0 : "?"
    }
    /^ "totals":/ {
        if (what != "not_tiled") print member(what)
        else print member("calls") - member("tiled") - member("fallback") - member("failed")
    }' "$@" | grep -v '?'
}

# summary_reason ID FILE: how many calls were not tiled for this reason of include/convshim/reasons.def.
summary_reason()
{
    sed -nE '/^ "totals":/s/.*\{"id":"'"$1"'",[^}]*"calls":([0-9]+)\}.*/\1/p' "$2" | grep . || echo 0
}

# summary_value EXPRESSION FILE: of the summary `s`, as python prints it.
summary_value()
{
    python3 -c 'import json, sys
s = json.load(open(sys.argv[2]))
def total(array, *names):
    return sum(element[name] for element in array for name in names)
print(eval("(" + sys.argv[1] + ")"))' "$@"
}
