#!/usr/bin/env bats
# The main job under every policy there is: the same picture, and no error.
load helper

# same_picture API CONFIG
same_picture()
{
    local program=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 64 --dtype f32 --api "$1")
    [ -r "plain.$1" ] || {
        plain "${program[@]}" --dump "plain.$1"
        expect_status 0
    }
    CONVSHIM_CONFIG=$2 shimmed "${program[@]}" --dump shimmed.bin
    expect_status 0
    expect_no_violation shimmed
    "$APPS/compare" --float32 --rel 1e-5 --abs 1e-5 "plain.$1" shimmed.bin >compare.out 2>&1 || fail "the results differ"
}

# bats test_tags=quick
@test "every policy on both APIs, in the program's scratch and in the library's: the same picture" {
    local file policy api backing policies=0
    for file in "$ROOT"/policies/*.c; do
        policy=$(basename "$file" .c)
        policies=$((policies + 1))
        for api in $(some graph legacy); do
            for backing in $(some own client); do
                same_picture "$api" "policy=$policy;workspace=8MiB;tiles=3;backing=$backing"
                expect_equal "policy" "$(summary 's["config"]["options"]["policy"]')" "$policy"
                [ "$policy" != off ] || continue
                expect_accounts_agree
                expect_true "$policy, $api, $backing: tiled calls" "$(counted tiled) > 0"
            done
        done
    done
    expect_true "policies" "$policies >= 3"
}

# The layers of a list that a policy of tree/ tiles, on lines.
tiled_by()
{
    tree/build/convshim predict --layers "$ROOT/tests/data/conv_layers.csv" --device rtx4090 --policy "$1" --format csv >"$1.csv" 2>"$1.err" ||
        [ $? = 1 ] || fail "$(cat "$1.err")"
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next } $column["tiles"] > 1 { print $1, $2 }' "$1.csv" | sort
}

@test "the example, copied as policies/README.md describes: it builds, the option accepts it, and it tiles nearly all layers that the default policy tiles" {
    [ -z "$SAN_RT" ] || cannot_run "the build with sanitizers is another one"
    local part
    mkdir -p tree/build
    for part in "$ROOT"/*; do
        case ${part##*/} in build) ;; policies) cp -r "$part" tree ;; *) ln -s "$part" tree ;; esac
    done
    cp -a "$BUILD"/{config.mk,flags,gen,obj} tree/build
    make -s -C tree build/flags # they name the folder, which is no reason to compile all of it again
    find tree/build -type f ! -name flags -exec touch {} +
    sed s/example/even/g "$ROOT/tests/policies/example.c" >tree/policies/even.c
    make -s -C tree lib build/convshim >make.out 2>&1 || fail "make failed"
    CONVSHIM_CONFIG="policy=even;log=info" PRELOAD=$PWD/tree/build/libconvshim.so shimmed "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
    expect_line shimmed.err 'is loaded: policy even,'
    local usual both
    usual=$(tiled_by "$DEFAULT_POLICY" | wc -l)
    both=$(comm -12 <(tiled_by "$DEFAULT_POLICY") <(tiled_by even) | wc -l)
    expect_true "layers that the default policy tiles" "$usual >= 40"
    expect_true "$both of $usual layers" "10 * $both >= 9 * $usual"
}
