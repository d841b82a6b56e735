"""Reads the summaries that convshim writes at exit, as JSON: one file a process."""

import json


def read(paths):
    """The summaries in these files; what a process that was killed did not finish is none."""
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
    whole = {"processes": len(summaries), "reasons": {}}
    for key, member in (
        ("calls", "calls"),
        ("tiled", "rewritten"),
        ("extra_launches", "extra_launches"),
        ("fallback", "lifeboat"),
        ("failed", "failed"),
    ):
        whole[key] = sum(one[member] for one in totals)
    whole["required"] = max(one["wanted_max"] for one in totals)
    whole["reported"] = max(one["told_max"] for one in totals)
    for reason in (reason for one in totals for reason in one["passed"]):
        whole["reasons"][reason["text"]] = whole["reasons"].get(reason["text"], 0) + reason["calls"]
    whole["not_tiled"] = sum(whole["reasons"].values())
    return whole


def in_words(whole):
    """The cell of a table."""
    if whole is None:
        return "saw no convolution"
    text = f"{whole['tiled']} of {whole['calls']} tiled"
    if whole["reasons"]:
        reason, count = max(whole["reasons"].items(), key=lambda item: item[1])
        text += f"; {count} not tiled: {reason}"
    if whole["fallback"] or whole["failed"]:
        text += f"; {whole['fallback']} on the fallback plan, {whole['failed']} failed"
    return text
