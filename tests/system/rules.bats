#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031,SC2034 # each test is a separate process; helper.bash uses these variables
# Rules: the convolutions that they match, their effects, and the messages about them. Policies with invalid results.
load helper

# Sizes do not matter here, and planning by rule of thumb starts faster.
export SIMDEV_PLANNING=rule

# rules: file.ini from standard input becomes the options.
rules()
{
    cat >file.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/file.ini
}

# both_equal PROGRAM...: without and with the library, and the same results to the bit.
both_equal()
{
    plain "$@" --dump plain.bin
    expect_status 0
    CONVSHIM_LOG=info shimmed "$@" --dump shimmed.bin
    expect_status 0
    expect_no_violation plain shimmed
    expect_accounts_agree
    expect_same --exact
}

convolutions()
{
    both_equal "$APPS/conv_random" --count 25 --seed 45 --dtype all --data integers "$@"
}

# followed RULE: the number of calls that followed it by the summary.
followed()
{
    summary "{r['name']: r['calls'] for r in s['rules']}['$1']"
}

# complaints: messages about the options. A line about a convolution begins with its shape.
complaints()
{
    sed -nE 's/^convshim\[[0-9]+\]: //; /^[0-9]+x[0-9x]+ -> /d; / is loaded: /d; /^using .* from /d; p' shimmed.err
}

@test "without rules no line of them" {
    convolutions --api both
    ! grep -q 'rule' shimmed.err || fail "it speaks of rules"
    expect_equal "rules" "$(summary 's["rules"]')" "[]"
}

@test "a rule skips its matches, the rest is tiled as before" {
    local dtype
    export CONVSHIM_CONFIG=$EVERYTHING
    convolutions --api graph
    local all seen=0
    all=$(counted tiled)
    expect_true "tiled calls" "$all > 10"
    for dtype in f32 f16 bf16; do
        rules <<<"[rule not-these]
dtype = $dtype
skip = yes"
        convolutions --api graph
        expect_true "calls that followed the rule" "$(followed not-these) > 0"
        expect_equal "calls not tiled" "$(not_tiled_because RULE)" "$(followed not-these)"
        expect_true "calls tiled" "$(counted tiled) < $all"
        seen=$((seen + all - $(counted tiled)))
        expect_equal "what the rule was followed for" \
            "$(summary '{(p["problem"]["dtype"], p["reason"]) for p in s["sites"] if p["rule"]}')" "{('$dtype', 'RULE')}"
        expect_true "log lines that name the rule" "$(grep -c ', rule not-these$' shimmed.err) > 0"
    done
    expect_equal "calls that one of the rules kept from being tiled" "$seen" "$all"
}

# bats test_tags=quick
@test "a rule sets workspace: its matches report no more" {
    rules <<<"workspace = 1MiB
max_slowdown = off
[rule tight]
direction = fwd
workspace = 8KiB
[rule loose]
direction = dgrad, wgrad
workspace = 1TiB"
    convolutions --api graph --direction forward
    expect_true "calls that followed the rule" "$(followed tight) > 0"
    expect_equal "calls that followed the other" "$(followed loose)" 0
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_true "largest reported" "$(counted reported) < 1024 * 1024"
    convolutions --api graph --direction data
    expect_equal "tiled calls" "$(counted tiled)" 0
    expect_true "calls that followed the rule" "$(followed loose) > 0"
}

# by_required FILE LEAST MOST: how many sites of a summary require more than LEAST and no more than MOST, and how many
# of those were tiled.
by_required()
{
    python3 -c 'import json, sys
least, most = int(sys.argv[2]), int(sys.argv[3])
sites = [site for site in json.load(open(sys.argv[1]))["sites"] if least < site["required"] <= most]
print(len(sites), sum(site["tiled"] > 0 for site in sites))' "$@"
}

@test "threshold above workspace: convolutions up to it are not tiled, for options and rules" {
    local api some tiled
    for api in graph legacy; do
        for options in "workspace=8KiB;threshold=40KiB" "rule.a.workspace=8KiB;rule.a.threshold=40KiB"; do
            CONVSHIM_SUMMARY=json:$api.json CONVSHIM_CONFIG=$options \
                shimmed "$APPS/conv_random" --count 60 --seed 45 --dtype all --data integers --api "$api"
            expect_status 0
            read -r some tiled < <(by_required $api.json 8192 40960)
            expect_true "convolutions between the two" "$some > 2"
            expect_equal "of them tiled" "$tiled" 0
            read -r some tiled < <(by_required $api.json 40960 99999999999)
            expect_true "tiled convolutions above both" "$tiled > 0"
        done
    done
}

@test "a rule below the options' threshold is not overlooked by the legacy API" {
    rules <<<"max_slowdown = off
[rule tight]
workspace = 8KiB"
    convolutions --api legacy
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_true "calls that followed the rule" "$(followed tight) > 0"
    echo 'program = another' >>file.ini
    CONVSHIM_SUMMARY=text shimmed "$APPS/conv_random" --count 25 --seed 45 --dtype all --data integers --api legacy
    expect_status 0
    expect_equal "tiled calls" "$(counted tiled)" 0
}

# bats test_tags=quick
@test "a rule names policy, tiles and lanes" {
    rules <<<"[rule three]
$FIXED
tiles = 3
lanes = 3
threshold = 0
[rule never]
skip = yes"
    convolutions --api graph
    expect_true "tiled calls" "$(counted tiled) > 5"
    expect_true "three tiles on three lanes" "$(summary 'sum(p["rule"] == "three" and p["decision"] is not None and
        (p["decision"]["tiles"], p["decision"]["lanes"]) == (3, 3) for p in s["sites"])') > 0"
    expect_equal "calls that followed the second rule" "$(followed never)" 0
}

@test "a rule for another program has no effect" {
    export CONVSHIM_CONFIG=$EVERYTHING
    rules <<<"[rule elsewhere]
program = vae*
skip = yes
[rule here]
program = conv_r*m
skip = yes"
    convolutions --api graph
    expect_equal "tiled calls" "$(counted tiled)" 0
    expect_true "calls that followed the rule" "$(followed here) > 0"
    expect_equal "rules" "$(summary '[r["name"] for r in s["rules"]]')" "['here']"
}

@test "a rule and an ini file for a Python script, and config's report of them" {
    cp "$ROOT/tests/support/clients/python_client.py" main.py
    cat >"$XDG_CONFIG_HOME/convshim/main.py.ini" <<'END'
max_slowdown = off
[rule other]
script = other.py
skip = yes
[rule mine]
script = main*
workspace = 96KiB
END
    echo 'policy = off' >"$XDG_CONFIG_HOME/convshim/python3.ini"
    PYTHONPATH=$ROOT/python shimmed python3 -u main.py "$CLIENTS/libwork.so" child
    expect_status 0
    expect_equal "tiled" "$(counted tiled)" 1
    expect_equal "calls by the rule" "$(followed mine)" 1
    expect_equal "rules" "$(summary 'len(s["rules"])')" 1
    expect_equal "script" "$(summary 's["process"]["script"]')" main.py
    expect_equal "command" "$(summary 's["process"]["command"][1:]')" "['-u', 'main.py', '$CLIENTS/libwork.so', 'child']"
    command_of 0 config --script main.py --explain '1x8x64x64 -> 8 k3x3 p1 f32'
    expect_line config.out '^rule mine: applies; sets workspace 96KiB$'
    command_of 0 config --script else.py --explain '1x8x64x64 -> 8 k3x3 p1 f32'
    ! grep -q 'rule mine: applies' config.out || fail "of another script"
}

@test "the first matching rule applies alone; the environment's rules precede the file's" {
    rules <<<"[rule first]
skip = yes
[rule second]
$FIXED"
    export CONVSHIM_CONFIG=$EVERYTHING
    convolutions --api graph
    expect_equal "tiled calls" "$(counted tiled)" 0
    expect_equal "calls that followed the second rule" "$(followed second)" 0
    CONVSHIM_CONFIG="$EVERYTHING;rule.own.dtype=f32,f16,bf16;rule.own.skip=no" convolutions --api graph
    expect_true "tiled calls" "$(counted tiled) > 10"
    expect_equal "calls that followed the file's rule" "$(followed first)" 0
}

@test "bad rules: one line each with file, line and rule, and none of them applies" {
    export CONVSHIM_CONFIG=$EVERYTHING
    rules <<<"[rule typo]
skip = yes
layuot = nchw

[rule value]
layout = nchv
skip = yes
[rule twice]
tiles = 2
[rule twice]
skip = yes
[rule empty]
dtype = f32
[rule words]
skip = yes
dtype f32
[rule]
skip = yes"
    convolutions --api graph
    complaints >complaints.out
    local file=$CONVSHIM_CONFIGFILE line
    for line in "3: rule typo: layuot: *" '6: rule value: layout: "nchv" *nchw, nhwc, strided' "10: rule twice: *line 8*" \
        '16: "dtype f32" *NAME = VALUE' '17: rule "": *' "12: rule empty: *"; do
        read -r said || fail "missing: $line"
        # shellcheck disable=SC2053 # a pattern
        [[ $said == "$file:"$line ]] || fail "it said: $said"
    done <complaints.out
    expect_equal "complaints" "$(wc -l <complaints.out)" 6
    expect_true "tiled calls" "$(counted tiled) > 10"
    expect_true "calls that followed the rule left" "$(followed twice) > 10"
}

@test "the example in the default ini is a rule" {
    sed -n '/^# Rules:/,$ s/^;//p' "$ROOT/conf/convshim.ini" >file.ini
    grep -q '^\[rule ' file.ini || fail "there is no example"
    sed -i 's/^program = .*/program = conv*/' file.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/file.ini
    convolutions --api graph
    expect_equal "complaints" "$(complaints)" ""
    expect_equal "calls that followed it" "$(followed large)" 0
}

# nonsense POLICY CONFIG: the library with the policies of tests/policies.
nonsense()
{
    LIBRARY=$BUILD/policies/libconvshim.so PRELOAD=${SAN_RT:+$SAN_RT:}$BUILD/policies/libconvshim.so
    [ -r "$LIBRARY" ] || fail "$LIBRARY is missing: build first"
    CONVSHIM_CONFIG="policy=$1;$2" both_equal "$APPS/conv_random" --count 12 --seed 46 --dtype all --data integers \
        --api both
    expect_equal "policy" "$(summary '(s["config"]["options"]["policy"], s["config"]["source"])')" "('$1', 'CONVSHIM_CONFIG')"
}

@test "policies that accept nothing: every call is unchanged" {
    local policy
    for policy in nan veto infinite; do
        nonsense $policy "workspace=16KiB"
        expect_equal "tiled calls under $policy" "$(counted tiled)" 0
    done
}

@test "policies without sense: right results" {
    local policy
    for policy in minus below beyond fickle; do
        nonsense $policy "workspace=16KiB;threshold=0"
        expect_true "tiled calls under $policy" "$(counted tiled) > 0"
    done
}

@test "a slow policy: right results" {
    expect_cpu 60 nonsense slow "workspace=16KiB"
    expect_true "tiled calls" "$(counted tiled) > 0"
}

@test "the example policy of tests/policies" {
    nonsense example "workspace=16KiB"
    expect_true "tiled calls" "$(counted tiled) > 0"
}
