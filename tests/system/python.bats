#!/usr/bin/env bats
# The Python package: a program that queries and configures the library, on the simulated device and without a wheel.
load helper

export SIMDEV_PLANNING=rule PYTHONPATH=$ROOT/python
CLIENT=("$ROOT/tests/support/clients/python_client.py" "$CLIENTS/libwork.so")

# scene NAME [ARGUMENT...]: with the library.
scene()
{
    SUMMARY=off shimmed python3 "${CLIENT[@]}" "$@"
    expect_status 0
    expect_no_violation shimmed
}

# A sanitizer's runtime is not there before python3 opens the library itself.
need_no_sanitizer()
{
    [ -z "$SAN_RT" ] || cannot_run "with a sanitizer"
}

# line NUMBER: of the last output.
line()
{
    sed -n "$1p" shimmed.out
}

# bats test_tags=quick
@test "configure before the first convolution, stats while it runs; then it is too late" {
    scene inside
    expect_equal "at first" "$(line 1)" "active True {'calls': 0, 'tiled': 0, 'reported_max': 0}"
    expect_line shimmed.out '^refused: .*workspce: .* workspace\?$'
    [[ $(line 3) == "{'calls': 1, 'tiled': 1, 'reported_max': "* ]] || fail "the convolution: $(line 3)"
    expect_equal "options" "$(line 4)" "{'workspace': '96KiB', 'lanes': '1', 'max_slowdown': 'off'}"
    expect_equal "source" "$(line 5)" "convshim_configure True 1"
    expect_line shimmed.out '^late: too late: '
}

# bats test_tags=quick
@test "limit: changes no size of plans made inside it, in both APIs" {
    scene limits
    expect_equal "plans of outside" "$(line 1 | cut -d , -f 1,2)" "{'calls': 3, 'tiled': 0"
    expect_equal "the plan of inside" "$(line 2 | cut -d , -f 1,2)" "{'calls': 4, 'tiled': 0"
    expect_equal "legacy" "$(line 3 | cut -d , -f 1,2)" "{'calls': 5, 'tiled': 0"
    expect_equal "refused" "$(grep -c '^refused: .*a limit is from 1 KiB to 1 TiB$' shimmed.out)" 4
    expect_equal "no numbers" "$(grep -c '^no number: .*integer$' shimmed.out)" 2
    expect_equal "behind it" "$(tail -n 1 shimmed.out | cut -d , -f 1,2)" "{'calls': 6, 'tiled': 0"
}

@test "limit: of several that are active, in one thread or in many, the least applies" {
    shimmed python3 "${CLIENT[@]}" overlapping
    expect_equal "limits in MiB" "$(<shimmed.out)" "[8, 8, 16, 0, 8, 4] 0"
}

@test "not preloaded: reported, and started programs are preloaded" {
    need_no_sanitizer
    plain python3 "${CLIENT[@]}" without
    expect_status 0
    expect_equal "active" "$(sed -n 1p plain.out)" "active False True"
    expect_equal "refused" "$(grep -c '^not active: this process was started without convshim' plain.out)" 3
    expect_line plain.out "^child True .'calls': 1, 'tiled': 1, "
    expect_line plain.out '^/no/libasan\.so\.8:LIBRARY:/no/more\.so lanes=2;workspace=5MiB False$'
    expect_line plain.out '^refused: .*policy: .*"fastest".*allowed: '
}

@test "python -m convshim: the program's arguments, options and the line at the end" {
    need_no_sanitizer
    plain python3 -m convshim --workspace 96KiB --max-slowdown off --log-file=log "${CLIENT[@]}" child --workspace x
    expect_status 0
    expect_line plain.out "^child True .'calls': 1, 'tiled': 1, .* \\['--workspace', 'x'\\]\$"
    grep -q '1 of 1 call tiled' log || fail "no summary"
    plain python3 -m convshim -c 'import sys; sys.exit(3)'
    expect_status 3
    expect_line plain.err '^convshim\[[0-9]+\]: no convolution: this process loaded no cuDNN'
    local before
    for before in "-O -X dev -W ignore -m convshim" "-OXdev -Wignore -mconvshim" "-O -X dev -W ignore -sm convshim"; do
        # shellcheck disable=SC2086 # words of a command
        plain python3 $before --workspace 96KiB -c 'import sys; print(sys.flags.optimize, sys.flags.dev_mode, sys.warnoptions[-1], sys.argv)' -m x
        expect_equal "options behind $before" "$(<plain.out)" "1 True ignore ['-c', '-m', 'x']"
    done
    plain python3 -m convshim --policy fastest -c pass
    expect_status 2
    expect_line plain.err '^convshim: .*policy: .*"fastest".*allowed: '
    plain python3 -m convshim --nope app.py
    expect_status 2
    expect_line plain.err '^convshim: nope: no such option'
    plain python3 -m convshim --log-file=$'l\xf6g' -c pass
    expect_status 0
    plain python3 -m convshim
    expect_status 2
    plain python3 -m convshim --help
    expect_status 0
}

@test "CONVSHIM=0: not active" {
    CONVSHIM=0 shimmed python3 -c 'import convshim
print(convshim.active())
try: convshim.stats()
except convshim.NotActiveError as error: print(error)'
    expect_equal "output" "$(<shimmed.out)" $'False\nCONVSHIM=0 switches convshim off'
}

@test "each function of the package has a docstring and types" {
    python3 - <<'END' || fail "a function without a word or a type"
import inspect, convshim
assert (__import__("pathlib").Path(convshim.__file__).parent / "py.typed").exists()
for name in convshim.__all__:
    what = getattr(convshim, name)
    assert what.__doc__, name
    if inspect.isfunction(what):
        signature = inspect.signature(what)
        assert signature.return_annotation is not signature.empty, name
        assert all(p.annotation is not p.empty for p in signature.parameters.values()), name
END
}
