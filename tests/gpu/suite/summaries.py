"""Reads the summaries that convshim writes at exit, as JSON: one file a process."""

import json


def read(paths):
    """The summaries in these files; the incomplete ones of killed processes are left out."""
    found = []
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found.append(json.load(file))
        except ValueError:
            continue
    return found


def total(summaries):
    """One dict for all processes of a run, or None if none of them ran a convolution that convshim saw.

    Keys: processes, calls, tiled, not_tiled, extra_launches, fallback (calls on the fallback plan), failed, required,
    reported (the largest workspaces, bytes), reasons {text: calls that were not tiled}.
    """
    if not summaries:
        return None
    totals = [summary["totals"] for summary in summaries]
    merged = {"processes": len(summaries), "reasons": {}}
    for key, member in (
        ("calls", "calls"),
        ("tiled", "tiled"),
        ("extra_launches", "extra_launches"),
        ("fallback", "fallback"),
        ("failed", "failed"),
    ):
        merged[key] = sum(one[member] for one in totals)
    merged["required"] = max(one["required_max"] for one in totals)
    merged["reported"] = max(one["reported_max"] for one in totals)
    for reason in (reason for one in totals for reason in one["not_tiled"]):
        merged["reasons"][reason["text"]] = merged["reasons"].get(reason["text"], 0) + reason["calls"]
    merged["not_tiled"] = sum(merged["reasons"].values())
    return merged


def in_words(merged):
    """The cell of a table."""
    if merged is None:
        return "saw no convolution"
    text = f"{merged['tiled']} of {merged['calls']} tiled"
    if merged["reasons"]:
        reason, count = max(merged["reasons"].items(), key=lambda item: item[1])
        text += f"; {count} not tiled: {reason}"
    if merged["fallback"] or merged["failed"]:
        text += f"; {merged['fallback']} on the fallback plan, {merged['failed']} failed"
    return text
