#!/usr/bin/env bats
# scripts/bench, with one round and few layers: its figures mean nothing here, but each is measured.

bats_require_minimum_version 1.5.0
load helper

# bats test_tags=quick
@test "bench measures every figure" {
    [ -z "$SAN_RT" ] || cannot_run "bench preloads the library into programs without a sanitizer"
    sed -n '97,99p' "$ROOT/tests/data/conv_layers.csv" >layers.csv
    "$ROOT/scripts/bench" --build "$BUILD" --rounds 1 --batches 3 --layers "$PWD/layers.csv" --output "$PWD/bench.json" >bench.out 2>bench.err ||
        fail "bench fails"
    expect_empty bench.err
    python3 - bench.json >figures.out <<'EOF'
import json, sys
figures = json.load(open(sys.argv[1]))
measured = {k: v for k, v in figures.items() if k.endswith(("_ns", "_ms", "_ratio", "_median", "_p99"))}
assert len(measured) == 32, len(measured)
for name, value in measured.items():
    assert value > 0 or "added" in name or "own_" in name or "fork" in name or "ratio" in name, (name, value)
assert figures["new_problems"] == 3 and figures["new_problems_tiled"] > 0, figures
EOF
}
