# Runs convshim simulate in a test, and reads its outputs.
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables that the tests use

COMMAND=$BUILD/convshim
CUDNN=$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")

# simulate OPTION...: leaves $status, simulate.out and simulate.err.
simulate()
{
    status=0
    mkdir -p tmp
    TMPDIR=$PWD/tmp LD_LIBRARY_PATH="$SIMDEV_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        LD_PRELOAD="${SAN_RT:+$SAN_RT:}${LD_PRELOAD-}" \
        "$COMMAND" simulate --cudnn "$CUDNN" "$@" >simulate.out 2>simulate.err </dev/null || status=$?
    expect_equal "what is left behind" "$(ls tmp)" ""
}

# The output contains only the progress lines, which come every ten seconds on a slow machine. In a chroot no private layer
# is possible, and a line reports it.
expect_no_word()
{
    sed -Ei '/^convshim: simulate: (with(out)? [0-9]+ s: |the program is loading, [0-9]+ s$|the peak does not fall\. |memory is short\. |.* no private layer is possible )/d' simulate.err
    expect_empty simulate.err
}

# figures without|with: lines NAME,VALUE of the CSV's only row, except the verdicts, its last columns.
figures()
{
    python3 - "$1" <<'END'
import csv, sys
for name, value in next(csv.DictReader(open("simulate.out"))).items():
    if name.endswith("_" + sys.argv[1]) and not name.startswith("verdict"):
        print(name.removesuffix("_" + sys.argv[1]), value, sep=",")
END
}

# figure NAME without|with: a value of that row.
figure()
{
    figures "$2" | sed -n "s/^$1,//p"
}

# written NAME: the contents of that file in the working folder of the runs, kept by --keep.
written()
{
    cat kept/layers/*/*/files/"$1" 2>layers.err || cat "$1"
}

decoder=(--csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16)
