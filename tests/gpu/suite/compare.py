"""Brings measurements of the same thing together: without convshim, with it, under cuDNN's own cap."""

import statistics

LAYER_KEY = ("model", "layer", "dtype", "layout", "api")


def floor_bytes(row):
    """The smallest memory of a convolution: input, filter and output."""
    return row["input_bytes"] + row["filter_bytes"] + row["output_bytes"]


def ratio(a, b):
    """a / b, or None if either was not measured."""
    return a / b if a is not None and b else None


def by_key(rows, key=LAYER_KEY):
    return {tuple(row.get(name) for name in key): row for row in rows}


def pair_layers(plain, other):
    """A comparison for each layer in both lists; values that were not measured on either side are None.

    peak_ratio is the other's device peak per byte of input + filter + output; oversized is true if the plain run needed
    a workspace; same_engine and bit_equal are None unless both ran.
    """
    pairs = []
    index = by_key(other)
    for key, before in by_key(plain).items():
        after = index.get(key)
        if after is None:
            continue
        both = before["status"] == "ok" and after["status"] == "ok"
        pairs.append(
            {
                **dict(zip(LAYER_KEY, key)),
                "floor": floor_bytes(before),
                "status_before": before["status"],
                "status_after": after["status"],
                "workspace_before": before.get("workspace"),
                "workspace_after": after.get("workspace"),
                "peak_before": before.get("device_peak"),
                "peak_after": after.get("device_peak"),
                "peak_ratio": ratio(after.get("device_peak"), floor_bytes(before)),
                "us_before": before.get("median_us"),
                "us_after": after.get("median_us"),
                "time_ratio": ratio(after.get("median_us"), before.get("median_us")),
                "engine_before": before.get("engine"),
                "engine_after": after.get("engine"),
                "same_engine": before.get("engine") == after.get("engine") if both else None,
                "bit_equal": before["checksum"] == after["checksum"] if both else None,
                "errors": (before.get("max_rel_error"), after.get("max_rel_error")),
            }
        )
    return pairs


def reduced(pairs):
    """Those whose workspace became smaller."""
    return [
        pair
        for pair in pairs
        if pair["workspace_before"] is not None
        and pair["workspace_after"] is not None
        and pair["workspace_after"] < pair["workspace_before"]
    ]


def against(pairs, rows):
    """(pair, the row's time, the pair's later time over that) for each pair whose layer is in the rows and ran in both."""
    index = by_key(rows)
    found = []
    for pair in pairs:
        row = index.get(tuple(pair[name] for name in LAYER_KEY))
        if row is not None and row.get("median_us") and pair["us_after"] is not None:
            found.append((pair, row["median_us"], pair["us_after"] / row["median_us"]))
    return found


def median(numbers):
    known = [number for number in numbers if number is not None]
    return statistics.median(known) if known else None


def largest(numbers):
    known = [number for number in numbers if number is not None]
    return max(known) if known else None


def tiles_against_cap(plain, tiled, capped):
    """Layers on which cuDNN's own cap changed engine or workspace: (pair of the tiles, time under the cap or None)."""
    with_cap = {tuple(pair[name] for name in LAYER_KEY): pair for pair in pair_layers(plain, capped)}
    found = []
    for pair in pair_layers(plain, tiled):
        cap = with_cap.get(tuple(pair[name] for name in LAYER_KEY))
        if cap is None or cap["status_after"] != "ok":
            continue
        if (cap["engine_before"], cap["workspace_before"]) != (cap["engine_after"], cap["workspace_after"]):
            found.append((pair, cap["us_after"]))
    return found


def cap_unit(bare, as_mib, as_bytes, mib):
    """The effect of CUDNN_CONV_WSCAP_DBG, from the workspaces planned without it, with it set to a number of MiB, and
    with it set to the same number in bytes; lists in the same order. 'MiB', 'bytes', 'none' (no effect) or 'unclear'.
    """
    if not bare or not len(bare) == len(as_mib) == len(as_bytes):
        return "unclear"
    limit = mib << 20
    if max(bare) <= limit:
        return "unclear"
    if bare == as_mib == as_bytes:
        return "none"
    if max(as_mib) <= limit and as_bytes == bare:
        return "MiB"
    # A number of MiB taken as bytes leaves engines without any workspace.
    if max(as_bytes) <= limit and max(as_mib) <= mib:
        return "bytes"
    return "unclear"
