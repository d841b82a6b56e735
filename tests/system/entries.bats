#!/usr/bin/env bats
# Every function that cuDNN declares is intercepted or is passed on for a written reason.
load helper

# rows LIST MACRO: the names of a list of src/intercept/entry, sorted.
rows()
{
    sed -nE "s/^$2\(([A-Za-z0-9_*]+).*/\1/p" "$ROOT/src/intercept/entry/$1" | sort
}

# declared: the functions of cuDNN's headers, sorted.
declared()
{
    local include
    include=$(sed -n 's/^CUDNN_INC := //p' "$ROOT/build/config.mk")
    gcc -E -P -DCUDNNWINAPI=CUDNN_CALL -I"$include" -x c "$include/cudnn.h" \
        -isystem "$(sed -n 's/^CUDA_INC := //p' "$ROOT/build/config.mk")" | tr '\n' ' ' |
        grep -oE 'CUDNN_CALL +cudnn[A-Za-z0-9_]+' | sed 's/.* //' | sort -u
}

# matches NAME ROW: `*` stands for any part of a name, but not of a name with Conv in it.
matches()
{
    # shellcheck disable=SC2053 # the row is a pattern
    [[ $1 == $2 && ($2 != *'*'* || $1 != *Conv*) ]]
}

# bats test_tags=quick
@test "every function that cuDNN declares is in exactly one list" {
    local name row lists
    declared >headers
    expect_true "functions of the headers" "$(wc -l <headers) > 150"
    rows entries.def CS_ENTRY >entries
    rows not_intercepted.def CS_PASSED >passed
    expect_equal "entries that no header declares" "$(comm -23 entries headers)" ""
    expect_equal "rows that occur twice" "$(uniq -d passed)" ""
    while read -r name; do
        lists=$(grep -cx "$name" entries || true)
        while read -r row; do
            if matches "$name" "$row"; then lists=$((lists + 1)); fi
        done <passed
        [ "$lists" -ge 1 ] || echo "$name: no list"
        [ "$lists" = 1 ] || ! grep -qx "$name" entries || echo "$name: an entry that is passed on, too"
    done <headers >wrong
    expect_empty wrong
}
