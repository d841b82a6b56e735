"""summaries.py SUMMARY FOLDER: writes summaries that are hard to show, made of one that the library could have
written.

mixed.json: sizes of every unit, counts of one to three digits; hostile.json: names that look like markup or are far
too long; empty.json: no convolution at all; rank0.json to rank7.json: one job."""
import copy
import json
import os
import sys

HOSTILE = ["</style><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202egnitirw",
           "größe \U0001f600 <!--", "-", "a&lt;b", "x" * 250, "'\"`${1}\\"]


def mixed(summary):
    for i, site in enumerate(summary["sites"]):
        site["required"] = [999, 70 << 10, 600 << 10, 8 << 20, 123456789, 2 << 30, 11 << 30, 100 << 30][i % 8]
        site["reported"] = min(site["required"], 64 << 20)
        site["calls"] = [9, 10, 100, 1, 20, 3, 11, 2][i % 8]
    summary["totals"]["required_max"] = 100 << 30


def hostile(summary):
    summary["process"]["program"] = "</script><img src=x onerror=alert(1)><b>" + "W" * 300
    summary["device"]["name"] = "<svg onload=alert(1)>"
    for site, name in zip(summary["sites"], HOSTILE):
        site["name"] = name
    summary["sites"][3]["problem"]["text"] = "<img src=x onerror=alert(1)> " + "x" * 400


def empty(summary):
    summary["sites"] = []
    summary["process"]["program"] = summary["device"]["name"] = ""
    for name, value in summary["totals"].items():
        summary["totals"][name] = [] if isinstance(value, list) else 0


def rank(number):
    def change(summary):
        summary["process"].update(pid=5000 + number, rank=number)
        summary["totals"]["required_max"] = 3 * 7 ** (5 + number)
    return change


with open(sys.argv[1], encoding="utf-8") as file:
    base = json.load(file)
kinds = {function.__name__: function for function in (mixed, hostile, empty)}
for kind, change in {**kinds, **{f"rank{i}": rank(i) for i in range(8)}}.items():
    changed = copy.deepcopy(base)
    change(changed)
    with open(os.path.join(sys.argv[2], kind + ".json"), "w", encoding="utf-8") as file:
        json.dump(changed, file)
