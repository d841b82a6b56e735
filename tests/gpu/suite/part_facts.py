"""Part A: the GPU's profile, plans with the handle against plans with the profile, cuDNN's own workspace cap."""

import os
import shutil

from . import compare
from .report import mib

CAP_MIB = 64


def run(suite):
    _profile(suite)
    _cap(suite)


def _profile(suite):
    captured = suite.work("profile.json")
    layers = suite.path("tests", "data", "conv_layers.csv")
    extra = suite.path("tests", "gpu", "extra_layers.csv")
    outcome = suite.measure_c("facts", ("gpu/gpu_facts", "--capture", captured, "--csv", layers), 20)
    if outcome is None:
        return
    for record in outcome.records:
        if "device" in record:
            suite.report.gpu.update({key: value for key, value in record.items() if key != "profile"})
    rows = [record for record in outcome.records if "layer" in record]
    more = suite.measure_c("facts-extra", ("gpu/gpu_facts", "--csv", extra), 5)
    if more is not None:
        rows += [record for record in more.records if "layer" in record]
    if outcome.status == 0:
        shutil.copy(captured, os.path.join(suite.out, "device-profile.json"))
    suite.shared["facts"] = rows
    report_plans(suite.report, rows)


def report_plans(report, rows):
    """Counts by direction, then each plan that differs."""
    counts = []
    for direction in ("fwd", "dgrad", "wgrad"):
        of = [row for row in rows if row["dir"] == direction]
        if of:
            planned = [row for row in of if row["engine_handle"] != -1]
            largest = max((row["workspace_handle"] for row in planned), default=None)
            counts.append(
                [direction, len(of), len(planned), sum(bool(row["equal"]) for row in of), mib(largest)]
            )
    report.table(
        "plans with the handle against plans with the captured profile",
        ("direction", "layers", "planned", "equal", "largest workspace MiB"),
        counts,
    )
    report.table(
        "plans that differ",
        ("layer", "direction", "engine handle", "engine profile", "workspace handle", "workspace profile"),
        [
            [
                f"{row['model']}/{row['layer']}",
                row["dir"],
                row["engine_handle"],
                row["engine_profile"],
                row["workspace_handle"],
                row["workspace_profile"],
            ]
            for row in rows
            if not row["equal"]
        ],
    )


def _cap(suite):
    """Plans only: the workspaces of all forward layers with the variable unset, in MiB, and in bytes."""
    layers = suite.path("tests", "data", "conv_layers.csv")
    sizes = {}
    for name, value in (("unset", None), ("mib", str(CAP_MIB)), ("bytes", str(CAP_MIB << 20))):
        settings = {} if value is None else {"CUDNN_CONV_WSCAP_DBG": value}
        outcome = suite.measure_c(
            f"wscap-{name}", ("gpu/gpu_facts", "--csv", layers, "--dir", "fwd"), 8, settings=settings
        )
        if outcome is None or outcome.status != 0:
            return
        sizes[name] = [row["workspace_handle"] for row in outcome.records if "layer" in row]
    unit = compare.cap_unit(sizes["unset"], sizes["mib"], sizes["bytes"], CAP_MIB)
    suite.shared["cap_unit"] = unit
    suite.report.table(
        "effect of CUDNN_CONV_WSCAP_DBG on forward plans",
        ("value", "plans changed", "largest workspace MiB"),
        [
            [
                value,
                sum(a != b for a, b in zip(sizes["unset"], sizes[name])),
                mib(max(sizes[name], default=None)),
            ]
            for name, value in (("unset", "unset"), ("mib", CAP_MIB), ("bytes", CAP_MIB << 20))
        ]
        + [["unit", unit, None]],
    )
