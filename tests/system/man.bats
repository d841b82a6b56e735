#!/usr/bin/env bats
# The manual pages: roff without a warning, and the same options as --help and conf/convshim.ini.
load helper

COMMAND=$BUILD/convshim
PAGES=$BUILD/man

# terms FILE: the bold terms before an explanation, as displayed.
terms()
{
    sed -nE 's/^\\fB(.*)$/\1/p' "$1" | sed -E 's/\\f[A-Z]//g; s/\\-/-/g'
}

# section FILE PATTERN: from a heading that matches to the next.
section()
{
    awk -v wanted="$2" '/^\.S[HS] / { inside = $0 ~ wanted } inside' "$1"
}

# commands: the names of all commands, one a line.
commands()
{
    "$COMMAND" --help | sed -nE 's/^  ([a-z]+) +.*/\1/p'
}

@test "both pages are good roff" {
    local page
    command -v groff >/dev/null || cannot_run "no groff"
    for page in convshim.1 convshim.ini.5; do
        groff -man -ww -b -Tutf8 "$PAGES/$page" >page.out 2>page.err || fail "groff does not take $page"
        expect_empty page.err
        expect_true "lines of $page" "$(wc -l <page.out) > 50"
    done
}

@test "roff's own characters in a text are text" {
    command -v groff >/dev/null || cannot_run "no groff"
    groff -man -Tascii -P-c -P-b -P-u "$PAGES/convshim.1" | tr -s ' \n' ' ' >page.out
    "$COMMAND" doctor --help | tr -s ' \n' ' ' | grep -o 'Checks if convshim .* if it will not\.' >about
    grep -qF -- "$(<about)" page.out || fail "what --help says of doctor is not in the page"
}

# bats test_tags=quick
@test "every option of every --help stands in the page, and the other way round" {
    local name
    commands >names
    expect_true "commands" "$(wc -l <names) >= 4"
    while read -r name; do
        # Options of the library are in the other page.
        "$COMMAND" "$name" --help | sed '/^Options of the library/,/^  --help/{/^  --help/!d}' | sed -nE 's/^  (--[^ ]+( [^ ]+)?)( .*)?$/\1/p' | sort >help
        section "$PAGES/convshim.1" "^\\.SS \"convshim $name\"" >part
        terms part | sort | diff help - >difference.out || fail "$name differs"
        expect_true "options of $name" "$(wc -l <help) > 2"
    done <names
    section "$PAGES/convshim.1" '^\.SH COMMANDS' | terms /dev/stdin | diff names - >difference.out ||
        fail "other commands"
}

@test "every option of the ini file stands in its page with its default, and the other way round" {
    sed '/^;\[rule/,$d' "$ROOT/conf/convshim.ini" | sed -nE 's/^;([a-z_]+ =.*)/\1/p' >wanted
    section "$PAGES/convshim.ini.5" '^\.SH OPTIONS' | terms /dev/stdin | diff wanted - >difference.out || fail "they differ"
    expect_true "options" "$(wc -l <wanted) > 10"
}

@test "every key of a rule and every policy stands in the page of the ini file, and the other way round" {
    sed -nE 's/^CS_RULE_(WHEN|SET)\(([a-z]+), .*/\2/p' "$ROOT/include/convshim/rules.def" >wanted
    section "$PAGES/convshim.ini.5" '^\.SH RULES' | terms /dev/stdin | diff wanted - >difference.out || fail "other keys"
    expect_true "keys" "$(wc -l <wanted) > 10"
    basename -s .c "$ROOT"/policies/*.c >wanted
    section "$PAGES/convshim.ini.5" '^\.SH POLICIES' | terms /dev/stdin | diff wanted - >difference.out || fail "other policies"
}

@test "every check of the doctor stands in the page" {
    section "$PAGES/convshim.1" '^\.SH CHECKS' | terms /dev/stdin | sort >listed
    expect_true "checks" "$(wc -l <listed) > 5"
    "$COMMAND" doctor --format csv 2>/dev/null | tail -n +2 | cut -d, -f1 | sort -u | comm -23 - listed >missing
    expect_empty missing
}
