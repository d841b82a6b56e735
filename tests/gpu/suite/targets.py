"""The targets of issue 3 next to the measurements."""

from . import compare
from .report import MET, MISSED, NOT_MEASURED, mib

GIB = 1 << 30


def judge(shared):
    """Rows of the table of targets, from the parts' entries in `shared`."""
    rows = []
    for cap in (16, 64, 256):
        rows.append(_peaks(shared, cap))
    rows += _patch_conv(shared)
    rows += _times(shared)
    rows.append(_against_cap(shared))
    rows.append(_rank(shared))
    rows += _vae(shared, "eager", "vae") + _vae(shared, "compile", "vae-compile")
    rows.append(_bits(shared))
    rows.append(_programs_equal(shared))
    rows += _care(shared)
    return [dict(zip(("target", "wanted", "measured", "verdict"), row)) for row in rows]


def _row(target, wanted, measured, met):
    """measured None: nothing was measured."""
    if measured is None:
        return target, wanted, "-", NOT_MEASURED
    return target, wanted, measured, MET if met else MISSED


def _reduced_at(shared, cap):
    entries = [entry for entry in shared.get("layers", []) if entry["cap"] == cap]
    return [pair for entry in entries for pair in compare.reduced(entry["pairs"])]


def _peaks(shared, cap):
    """Layers that needed more than the cap. An untiled layer counts with its own peak."""
    pairs = [
        pair
        for entry in shared.get("layers", [])
        if entry["cap"] == cap
        for pair in entry["pairs"]
        if (pair["workspace_before"] or 0) > cap << 20 and pair["peak_ratio"] is not None
    ]
    ratios = [pair["peak_ratio"] for pair in pairs]
    text = None
    if ratios:
        left = len(pairs) - len(compare.reduced(pairs))
        text = f"{sum(ratio <= 1.05 for ratio in ratios)} of {len(ratios)}; largest {max(ratios):.3f}; {left} left untiled"
    return _row(
        f"device peak of oversized calls over input + filter + output, tiled at {cap} MiB",
        "<= 1.05 on every layer",
        text,
        ratios and max(ratios) <= 1.05,
    )


def _patch_conv(shared):
    pairs = {pair["layer"]: pair for pair in shared.get("patch_conv_shapes", {}).get("pairs", [])}
    rows = []
    for layer, most in (("512ch-2048px", 8.4), ("256ch-4096px", 16.8)):
        peak = pairs.get(layer, {}).get("peak_after")
        rows.append(
            _row(
                f"patch_conv's shape {layer}, device peak",
                f"<= {most} GiB",
                None if peak is None else f"{peak / GIB:.2f} GiB",
                peak is not None and peak <= most * GIB,
            )
        )
    return rows


def _times(shared):
    ratios = [pair["time_ratio"] for pair in _reduced_at(shared, 64) if pair["time_ratio"] is not None]
    middle, worst = compare.median(ratios), compare.largest(ratios)
    what = "time of the tiled call over untiled at 64 MiB"
    return [
        _row(
            f"{what}, median",
            "<= 1.02",
            None if middle is None else f"{middle:.3f} over {len(ratios)} layers",
            middle is not None and middle <= 1.02,
        ),
        _row(
            f"{what}, the worst layer",
            "<= 1.10",
            None if worst is None else f"{worst:.3f}",
            worst is not None and worst <= 1.10,
        ),
    ]


def _against_cap(shared):
    better = ran = 0
    for entry in shared.get("layers", []):
        for pair, capped_us in compare.tiles_against_cap(entry["plain"], entry["tiled"], entry["capped"]):
            if pair["us_after"] is not None and capped_us is not None:
                ran += 1
                better += pair["us_after"] < capped_us
    return _row(
        "faster than CUDNN_CONV_WSCAP_DBG at the same cap where that changes the engine",
        "every layer",
        f"{better} of {ran}" if ran else None,
        better == ran,
    )


def _rank(shared):
    rank = shared.get("rank", {})
    times = rank.get("times")
    text = None
    if times is not None:
        text = f"{times:.3f} over {rank['points']} layers and tilings"
        if rank["ratios"] is not None:
            text += f"; {rank['ratios']:.3f} of tiled over untiled, {rank['tilings']} tilings"
    return _row(
        "predicted against measured times, rank correlation", ">= 0.9", text, text and times >= 0.9
    )


def _vae(shared, mode, name):
    pair = next(
        (
            pair
            for pair in shared.get("programs", [])
            if pair["name"] == name and (pair["case"], pair["dtype"], pair["mode"]) == ("1024", "f16", mode)
        ),
        None,
    )
    what = f"VAE decoder, 1024 px, f16, {mode}: "
    rows = []
    if mode == "eager":
        above = pair and pair["above_floor"]
        rows.append(
            _row(
                what + "allocated over what the program's own tensors need",
                "<= 1.02",
                (
                    f"{above:.3f} ({mib(pair['allocated'][0])} -> {mib(pair['allocated'][1])} MiB; least {mib(pair['floor'])})"
                    if above
                    else None
                ),
                above and above <= 1.02,
            )
        )
    else:
        eager = next(
            (
                other
                for other in shared.get("programs", [])
                if other["name"] == "vae" and other["case"] == "1024"
            ),
            None,
        )
        gain = pair and pair["allocated_ratio"]
        known = gain and eager and eager["allocated_ratio"]
        rows.append(
            _row(
                what + "allocated with over without",
                "less than in eager mode",
                f"{gain:.3f} (eager {eager['allocated_ratio']:.3f})" if known else None,
                known and gain < eager["allocated_ratio"],
            )
        )
    for key, label, most in (
        ("reserved_ratio", "reserved, with over without", 0.65),
        ("ms_ratio", "time, with over without", 1.01),
    ):
        value = pair and pair[key]
        rows.append(
            _row(what + label, f"<= {most}", f"{value:.3f}" if value else None, value and value <= most)
        )
    return rows


def _bits(shared):
    pairs = [
        pair
        for entry in shared.get("layers", [])
        for pair in compare.reduced(entry["pairs"])
        if pair["same_engine"]
    ]
    equal = sum(pair["bit_equal"] for pair in pairs)
    return _row(
        "layers: results bit-equal where the same engine ran",
        "all",
        f"{equal} of {len(pairs)}" if pairs else None,
        equal == len(pairs),
    )


def _programs_equal(shared):
    pairs = [
        pair
        for pair in shared.get("programs", [])
        if pair["bit_equal"] is not None and pair["repeatable"] is not False
    ]
    equal = sum(pair["bit_equal"] for pair in pairs)
    return _row(
        "programs that repeat themselves: outputs and gradients bit-equal",
        "all",
        f"{equal} of {len(pairs)}" if pairs else None,
        equal == len(pairs),
    )


def _care(shared):
    rows = []
    capacity = shared.get("capacity")
    rows.append(
        _row(
            "an amount of memory at which only the tiled run finishes",
            "found",
            None if capacity is None else "found" if capacity else "not found",
            capacity,
        )
    )
    for check in ("memcheck", "racecheck"):
        errors, tiled = shared.get("sanitizer", {}).get(check, (None, None))
        rows.append(
            _row(
                f"compute-sanitizer {check} on a tiled run",
                "0 errors",
                None if errors is None else f"{errors} errors, {tiled} calls tiled",
                errors == 0 and tiled,
            )
        )
    issue = next(iter(shared.get("issue_163539", [])), None)
    errors = issue["errors"] if issue else (None, None)
    rows.append(
        _row(
            "pytorch issue 163539, largest error against float64",
            "tiled <= untiled",
            None if None in errors else f"{errors[1]:.2g} tiled, {errors[0]:.2g} untiled",
            None not in errors and errors[1] <= errors[0],
        )
    )
    return rows
