#!/usr/bin/env python3
"""Tests of scripts/gpu-suite's handling of measurements: choice, comparison, targets. TAP; no GPU, no build."""

import array
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from suite import compare, machine, part_care, part_doors, part_facts  # noqa: E402
from suite import part_layers, part_programs, report, targets  # noqa: E402
from tap import Skip, main, same, test  # noqa: E402

MIB = 1 << 20


def layer_row(name, engine=62, workspace=100 * MIB, us=1000.0, checksum="aa", status="ok", peak=300 * MIB):
    row = {
        "model": "m",
        "layer": name,
        "dtype": "f16",
        "layout": "nchw",
        "api": "graph",
        "status": status,
        "input_bytes": 100 * MIB,
        "filter_bytes": 0,
        "output_bytes": 100 * MIB,
        "engine": engine,
        "workspace": workspace,
    }
    if status == "ok":
        row.update(median_us=us, checksum=checksum, device_peak=peak)
    return row


@test
def layers_are_chosen_from_all_models_each_shape_once():
    layers = part_layers.read_layers(os.path.join(ROOT, "tests", "data", "conv_layers.csv"))
    chosen = part_layers.choose(layers, 40)
    same(len(chosen), 40)
    same(len({tuple(layer[name] for name in part_layers.SHAPE) for layer in chosen}), 40)
    assert {"sd15-vae-512", "sdxl-vae-1024", "nnunet-128", "resnet50-b64", "avatar-unet-b128"} <= {
        layer["model"] for layer in chosen
    }
    same(part_layers.choose(layers, 40), chosen)
    same(len(part_layers.choose(layers[:1], 40)), 1)


@test
def the_size_of_a_layer_counts_stride_and_padding():
    layer = dict.fromkeys(part_layers.SHAPE, "1") | dict(
        n="2", c="3", h="9", w="8", k="5", kh="3", kw="3", sh="2", sw="1", pd="0", ph="1", pw="0"
    )
    same(part_layers.moved_elements(layer), 2 * 3 * 9 * 8 + 2 * 5 * 5 * 6)


@test
def every_variant_runs_once_at_every_cap():
    runs = [(variant, cap) for wave in part_layers.waves((64, 16)) for variant, cap, _ in wave]
    known = [run for run in runs if run[0] != ("f16", "nchw", "graph")]
    same(len(known), len(set(known)))
    same(len({variant for variant, _ in runs}), 12)


@test
def pairs_say_what_differs():
    plain = [
        layer_row("a"),
        layer_row("b"),
        layer_row("c"),
        layer_row("d", status="out of memory"),
        layer_row("e"),
    ]
    tiled = [
        layer_row("a", workspace=MIB, us=1020.0, peak=201 * MIB),
        layer_row("b", checksum="bb"),
        layer_row("c", engine=1),
        layer_row("d", workspace=MIB),
    ]
    a, b, c, d = compare.pair_layers(plain, tiled)
    same((a["time_ratio"], a["peak_ratio"], a["bit_equal"], a["same_engine"]), (1.02, 201 / 200, True, True))
    same((b["bit_equal"], c["same_engine"]), (False, False))
    same((d["status_before"], d["time_ratio"], d["bit_equal"]), ("out of memory", None, None))
    same([pair["layer"] for pair in compare.reduced([a, b, c, d])], ["a", "d"])


@test
def tiles_are_held_against_the_cap_only_where_it_changed_something():
    plain, tiled = [layer_row("a"), layer_row("b")], [layer_row("a", us=1100.0), layer_row("b")]
    capped = [layer_row("a", engine=5, workspace=0, us=2000.0), layer_row("b")]
    ((pair, us),) = compare.tiles_against_cap(plain, tiled, capped)
    same((pair["layer"], pair["us_after"], us), ("a", 1100.0, 2000.0))


@test
def the_unit_of_the_cap_is_read_from_plans():
    bare = [200 * MIB, 10 * MIB]
    same(compare.cap_unit(bare, bare, bare, 64), "none")
    same(compare.cap_unit(bare, [0, 10 * MIB], bare, 64), "MiB")
    same(compare.cap_unit(bare, [0, 0], [60 * MIB, 10 * MIB], 64), "bytes")
    same(compare.cap_unit(bare, [0, 10 * MIB], [0, 10 * MIB], 64), "unclear")
    same(compare.cap_unit([MIB], [MIB], [MIB], 64), "unclear")
    same(compare.cap_unit(bare, bare[:1], bare, 64), "unclear")


def verdicts(shared):
    return {row["target"]: (row["measured"], row["verdict"]) for row in targets.judge(shared)}


@test
def nothing_measured_is_neither_met_nor_missed():
    for target, (measured, verdict) in verdicts({}).items():
        same((target, measured, verdict), (target, "-", report.NOT_MEASURED))


def judged_layers(**changes):
    plain, tiled = [layer_row("a")], [
        layer_row("a", **{"workspace": MIB, "peak": 202 * MIB, "us": 1010.0, **changes})
    ]
    entry = {
        "variant": ("f16", "nchw", "graph"),
        "cap": 64,
        "plain": plain,
        "tiled": tiled,
        "capped": [layer_row("a", engine=5, us=1005.0)],
        "pairs": compare.pair_layers(plain, tiled),
    }
    return {target: verdict for target, (_, verdict) in verdicts({"layers": [entry]}).items()}


@test
def targets_of_layers_are_met_or_missed():
    peak = "device peak of oversized calls over input + filter + output, tiled at 64 MiB"
    middle = "time of the tiled call over untiled at 64 MiB, median"
    bits = "layers: results bit-equal where the same engine ran"
    faster = "faster than CUDNN_CONV_WSCAP_DBG at the same cap where that changes the engine"
    good = judged_layers()
    same([good[name] for name in (peak, middle, bits, faster)], ["met", "met", "met", "missed"])
    same(judged_layers(peak=220 * MIB)[peak], "missed")
    same(judged_layers(us=1030.0)[middle], "missed")
    same(judged_layers(us=900.0)[faster], "met")
    same(judged_layers(checksum="bb")[bits], "missed")
    same(judged_layers(checksum="bb", engine=1)[bits], "not measured")
    same(judged_layers(workspace=100 * MIB, peak=300 * MIB)[peak], "missed")


def program_record(allocated, ms=100.0, checksum="aa", **more):
    return {
        "program": "vae_decoder",
        "case": "1024",
        "dtype": "f16",
        "mode": "eager",
        "status": "ok",
        "checksum": checksum,
        "max_memory_allocated": allocated,
        "max_memory_reserved": 2 * allocated,
        "ms_per_iteration": ms,
        "repeatable": True,
        "device_base": 10,
        "device_peak": 10 + allocated,
        **more,
    }


def judged_program(after, floor):
    pairs = part_programs.pair_programs([program_record(2272)], [after], floor)
    for pair in pairs:
        pair["name"] = "vae"
    return pairs[0], {target: verdict for target, (_, verdict) in verdicts({"programs": pairs}).items()}


@test
def predictions_are_judged():
    target = "predicted against measured times, rank correlation"
    rank = {"points": 40, "times": 0.91, "tilings": 20, "ratios": 0.5, "median_factor": 1.3}
    same(
        verdicts({"rank": rank})[target],
        ("0.910 over 40 layers and tilings; 0.500 of tiled over untiled, 20 tilings", report.MET),
    )
    same(verdicts({"rank": {**rank, "times": 0.89}})[target][1], report.MISSED)


@test
def targets_of_programs_are_met_or_missed():
    least = [program_record(1630, mode="floor")]
    above, reserved, spent = (
        "VAE decoder, 1024 px, f16, eager: " + what
        for what in (
            "allocated over what the program's own tensors need",
            "reserved, with over without",
            "time, with over without",
        )
    )
    pair, good = judged_program(program_record(1640), least)
    same((pair["peak"], pair["floor"], pair["bit_equal"]), ((2272, 1640), 1630, True))
    same([good[name] for name in (above, reserved, spent)], ["met", "missed", "met"])
    pair, bad = judged_program(program_record(1700, ms=102.0, checksum="bb"), least)
    same([bad[name] for name in (above, spent)], ["missed", "missed"])
    same(part_programs.same_text(pair), "differ")
    same(judged_program(program_record(1640), [])[1][above], "not measured")
    same(
        part_programs.same_text({**pair, "max_rel": 0.001, "errors": (0.01, 0.02), "repeatable": False}),
        "differ by 0.001 of the largest value (error against f64: 0.01 without, 0.02 with); "
        "the program alone does not repeat itself either",
    )


@test
def plans_that_differ_are_listed():
    rows = [
        {
            "model": "m",
            "layer": name,
            "dir": "fwd",
            "engine_handle": 1,
            "engine_profile": engine,
            "workspace_handle": MIB,
            "workspace_profile": MIB,
            "equal": engine == 1,
        }
        for name, engine in (("a", 1), ("b", 2))
    ]
    facts = report.Report(True, 9, {})
    part_facts.report_plans(facts, rows)
    same(facts.tables[0]["rows"], [["fwd", 2, 2, 1, "1.0"]])
    same([row[0] for row in facts.tables[1]["rows"]], ["m/b"])


@test
def the_sanitizers_own_count_is_read():
    same(part_care.sanitizer_errors("========= ERROR SUMMARY: 0 errors\n"), 0)
    same(part_care.sanitizer_errors("========= ERROR SUMMARY: 12 errors\n"), 12)
    same(
        part_care.sanitizer_errors(
            "========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)\n"
        ),
        3,
    )
    same(part_care.sanitizer_errors("Device not supported\n"), None)


@test
def results_are_compared_bit_by_bit_and_by_size():
    if not machine.has_module("numpy"):
        raise Skip("numpy is not installed")
    import numpy
    import compare_outputs

    a = {"x": numpy.array([1.0, -4.0, float("nan")], "float32"), "y": numpy.array([float("inf")], "float32")}
    b = {"x": numpy.array([1.5, -4.0, float("nan")], "float32"), "y": numpy.array([float("inf")], "float32")}
    same(compare_outputs.compare(a, {name: array.copy() for name, array in a.items()})["bit_equal"], True)
    different = compare_outputs.compare(a, b)
    same(
        (different["bit_equal"], different["worst"], different["max_abs"], different["max_rel"]),
        (False, "x", 0.5, 0.125),
    )
    b["x"][0] = float("nan")
    same(compare_outputs.compare(a, b)["max_abs"], float("inf"))
    same(compare_outputs.compare({"x": numpy.array([0.0])}, {"x": numpy.array([-0.0])})["bit_equal"], False)


@test
def dumps_of_floats_are_compared_by_size():
    a, b = array.array("f", [4.0, -8.0, 1.0]), array.array("f", [4.0, -7.0, 1.0])
    same(part_doors.float_difference(a.tobytes(), b.tobytes()), 0.125)
    same(part_doors.float_difference(a.tobytes(), a.tobytes()), 0.0)
    same(part_doors.float_difference(a.tobytes(), b[:2].tobytes()), None)


if __name__ == "__main__":
    sys.exit(main())
