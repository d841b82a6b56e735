"""Reads the summary that convshim writes at exit (CONVSHIM_SUMMARY=text)."""

import re

_UNITS = {"B": 1, "bytes": 1, "byte": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_LINE = re.compile(r"^convshim\[(\d+)\]: (.*)$")
_SIZE = r"([0-9.]+) ?([KMGT]iB|bytes?|B)"
_CALLS = re.compile(r"^convolutions +(\d+) calls?: (\d+) rewritten, (\d+) passed on")
_WORKSPACE = re.compile(rf"^workspace +{_SIZE} largest wanted, {_SIZE} (?:largest told|could be saved)")
_EXTRA = re.compile(r"^extra launches +(-?\d+) \(lifeboat (\d+), failed (\d+)\)")
_PASSED = re.compile(r"^(?:passed on)? +(\d+) (\S.*)$")


def size_bytes(number, unit):
    return round(float(number) * _UNITS[unit])


def parse(text):
    """A dict for each process whose summary is in the text; the sizes are as exact as they were printed.

    Keys: pid, head, calls, rewritten, passed, reasons {text: count}, wanted, told (bytes; absent if nothing wanted
    a workspace), extra_launches, lifeboats, failed. Lines of the log that are no summary are left out.
    """
    found = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            _take(found, int(match[1]), match[2])
    return [summary for summary in found.values() if "calls" in summary]


def _take(found, pid, line):
    if re.match(r"^convshim [0-9]", line):
        found[pid] = {"pid": pid, "head": line, "reasons": {}}
        return
    summary = found.get(pid)
    if summary is None or summary.get("closed"):
        return
    if match := _CALLS.match(line):
        summary.update(calls=int(match[1]), rewritten=int(match[2]), passed=int(match[3]))
    elif match := _WORKSPACE.match(line):
        summary.update(wanted=size_bytes(match[1], match[2]), told=size_bytes(match[3], match[4]))
    elif match := _EXTRA.match(line):
        summary.update(extra_launches=int(match[1]), lifeboats=int(match[2]), failed=int(match[3]))
        summary["closed"] = True
    elif "wanted" not in summary and (match := _PASSED.match(line)):
        summary["reasons"][match[2]] = int(match[1])


def total(summaries):
    """One dict for all processes of a run, or None if none of them ran a convolution that convshim saw."""
    if not summaries:
        return None
    whole = {"processes": len(summaries), "reasons": {}}
    for key in ("calls", "rewritten", "passed", "extra_launches", "lifeboats", "failed"):
        whole[key] = sum(summary.get(key, 0) for summary in summaries)
    for key in ("wanted", "told"):
        sizes = [summary[key] for summary in summaries if key in summary]
        if sizes:
            whole[key] = max(sizes)
    for summary in summaries:
        for reason, count in summary["reasons"].items():
            whole["reasons"][reason] = whole["reasons"].get(reason, 0) + count
    return whole


def in_words(whole):
    """The cell of a table."""
    if whole is None:
        return "saw no convolution"
    text = f"{whole['rewritten']} of {whole['calls']} rewritten"
    if whole["reasons"]:
        reason, count = max(whole["reasons"].items(), key=lambda item: item[1])
        text += f"; {count} passed on: {reason}"
    if whole["lifeboats"] or whole["failed"]:
        text += f"; lifeboat {whole['lifeboats']}, failed {whole['failed']}"
    return text
