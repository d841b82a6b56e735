"""Small programs in every mode of the library: tests/faults/run.py makes their calls fail, and
tests/sweeps/accounts.py checks the device's counts."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

FORWARD = ["--problem", "dtype=f16 x=4x8x12x8 w=8x8x3x3 pre=1"]
EACH = FORWARD + ["--problem", "direction=data dtype=f16 x=4x8x8x8 w=8x8x3x3 pre=1",
                  "--problem", "direction=filter dtype=f32 x=4x8x8x8 w=8x8x3x3 pre=1 beta=1"]
CHANNELS = ["--problem", "direction=data dtype=f16 x=1x24x1x1 w=64x24x3x3 pre=1",
            "--problem", "direction=filter dtype=f16 x=2x24x4x4 w=16x24x3x3 pre=1 beta=1"]
DILATED = [word for kind in ("", "direction=data ", "direction=filter ")
           for word in ("--problem", kind + "dtype=f32 x=1x4x32x8 w=4x4x3x1 pre=8x0 post=8x0 dilation=8x1")]
GROUPED = ["apps/plan_layers", "--csv", os.path.join(ROOT, "tests/faults/grouped.csv"), "--api", "graph", "--direction", "filter"]
FIXED = subprocess.run([". tests/support/policies.bash; printf %s $FIXED"], shell=True, executable="bash", cwd=ROOT, check=True,
                       capture_output=True, text=True).stdout
TILES = FIXED + ";tiles=3;threshold=0"
SIX = FIXED + ";tiles=6;threshold=0"


def problems(api, *more):
    return ["apps/conv_random", "--check", "--api", api, *(more or EACH)]


NATIVE = {"SIMDEV_NATIVE_GRAPHS": "1"}

# Name: options of the library, program, more environment; of a program that takes long, one point in how many.
MODES = {
    "graph": (TILES, problems("graph"), {}),
    "legacy": (TILES, problems("legacy"), {}),
    "fused": (TILES, ["apps/conv_random", "--check", "--api", "both", "--fused", "legacy", "--count", "2"], {}),
    "residual": (TILES, ["apps/conv_random", "--check", "--fused", "residual", "--count", "1"], {}),
    "own": (TILES + ";backing=own", problems("both", *FORWARD), {}),
    "lanes": (SIX + ";backing=own;lanes=3", problems("both", *FORWARD), {"SIMDEV_RACES": "1"}),
    "lent": (SIX + ";lanes=2", problems("both", *EACH), {"SIMDEV_RACES": "1"}),
    "staged": (SIX + ";lanes=2;staged=always", problems("both", *CHANNELS), {"SIMDEV_RACES": "1"}),
    "capture": (TILES, ["clients/plans", "captured"], {}),
    "capture_lanes": (SIX + ";backing=own;lanes=3", ["clients/plans", "captured"], {"SIMDEV_RACES": "1"}),
    "populate": (TILES, ["clients/plans", "populate"], NATIVE),
    "populate_own": (SIX + ";backing=own;lanes=2", ["clients/plans", "populate"], NATIVE),
    "config_first": (TILES, ["clients/plans", "config_first"], {}),
    "fit": ("workspace=4KiB;max_slowdown=off", problems("both", *FORWARD), {}),
    "phases": ("workspace=2KiB;max_slowdown=off", problems("both", *DILATED), {}),
    "phases_packed": (SIX + ";lanes=2;staged=always", problems("graph", *DILATED), {"SIMDEV_RACES": "1"}),
    "price": ("workspace=8KiB;max_slowdown=6",
              problems("both", "--problem", "dtype=f16 x=4x8x24x16 w=8x8x3x3 pre=1"), {}),
    "dear": ("workspace=4KiB;max_slowdown=1.1", problems("both", *FORWARD), {}),
    "untileable": ("workspace=1KiB", GROUPED, {}),
    "refused": ("workspace=1KiB;untileable=refuse", GROUPED, {}),
    "reshape": (TILES, ["clients/reshape", "place"], {}),
    "find": ("workspace=3MiB;max_slowdown=off", ["clients/frameworks/pytorch_v7", "--mode", "benchmark"], {}, 50),
    "summary": (TILES + ";summary=json:summary.json", problems("both", *FORWARD), {}),
}

WRONG = ("an output element was not written", "differs from the host loop", "wrote outside the output", "wrong result",
         "layer_equal", "memcmp(", "simdev: violation", "Sanitizer")


def device_environment(build):
    """The variables that with-simdev sets."""
    listed = subprocess.run([os.path.join(ROOT, "scripts/with-simdev"), "--", "env", "-0"], check=True, capture_output=True,
                            env=dict(os.environ, SIMDEV_DIR=os.path.join(build, "simdev"))).stdout
    environment = dict(item.split("=", 1) for item in listed.decode().split("\0") if "=" in item)
    return {k: v for k, v in environment.items() if not k.startswith("CONVSHIM") and k != "SIMDEV_FAIL"}
