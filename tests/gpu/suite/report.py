"""All results of a run, its omissions and its failures: one JSON and one Markdown file.

Keys of the JSON: date, simulated, complete (false if the run was cut short), machine, gpu, minutes, spent_seconds,
measurements (part, name, command, status, seconds, records, summary of convshim), skipped and failed (part, name,
reason), tables (part, title, columns, rows), targets (target, wanted, measured, verdict), predictions (the GPU's profile,
the rank correlation, and every measured layer and tiling with its predicted time: suite/prediction.py; null if there are none).
"""

import datetime
import json
import os

MET, MISSED, NOT_MEASURED = "met", "missed", "not measured"


class Report:
    def __init__(self, simulated, minutes, machine):
        self.date = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        self.simulated = simulated
        self.minutes = minutes
        self.machine = machine
        self.gpu = {}
        self.complete = False
        self.spent_seconds = 0.0
        self.part = None
        self.measurements = []
        self.skipped = []
        self.failed = []
        self.tables = []
        self.targets = []
        self.predictions = None

    def measured(self, outcome):
        self.measurements.append(
            {
                "part": self.part,
                "name": outcome.name,
                "command": outcome.command,
                "status": outcome.status,
                "seconds": round(outcome.seconds, 3),
                "records": outcome.records,
                "summary": outcome.summary,
            }
        )

    def skip(self, name, reason):
        self.skipped.append({"part": self.part, "name": name, "reason": reason})

    def fail(self, name, reason):
        self.failed.append({"part": self.part, "name": name, "reason": reason})

    def table(self, title, columns, rows):
        """Rows of cells as text or numbers; None is shown as a dash. A table without rows is left out."""
        if rows:
            self.tables.append({"part": self.part, "title": title, "columns": list(columns), "rows": rows})

    def status(self, strict):
        if self.failed or (strict and self.skipped):
            return 1
        return 0 if self.measurements else 1

    def as_dict(self):
        names = (
            "date",
            "simulated",
            "complete",
            "machine",
            "gpu",
            "minutes",
            "spent_seconds",
            "measurements",
            "skipped",
            "failed",
            "tables",
            "targets",
            "predictions",
        )
        return {name: getattr(self, name) for name in names}

    def write(self, folder, part_titles):
        """Writes both files again and returns their paths."""
        os.makedirs(folder, exist_ok=True)
        stem = os.path.join(folder, "gpu-suite" + ("-simulated" if self.simulated else ""))
        for path, text in (
            (stem + ".json", json.dumps(self.as_dict(), indent=1) + "\n"),
            (stem + ".md", markdown(self.as_dict(), part_titles)),
        ):
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".new", path)
        return stem + ".json", stem + ".md"


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def mib(value):
    return None if value is None else f"{value / (1 << 20):.1f}"


def _markdown_table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return lines


def markdown(report, part_titles):
    mark = " (simulated)" if report["simulated"] else ""
    lines = [f"# convshim GPU suite{mark}", ""]
    if report["simulated"]:
        lines += [
            "Everything here ran on the **simulated** device: no number is one of a GPU, times are the host's.",
            "",
        ]
    if not report["complete"]:
        lines += ["**The run was cut short**: what is missing below was not measured.", ""]
    lines += _markdown_table(("what", "value"), _heading(report)) + [""]
    for part, title in part_titles.items():
        lines += _part(report, part, title, mark)
    if report["targets"]:
        columns = ("target", "wanted", "measured" + mark, "verdict")
        rows = [
            [entry[name] for name in ("target", "wanted", "measured", "verdict")]
            for entry in report["targets"]
        ]
        lines += ["## Targets", ""] + _markdown_table(columns, rows) + [""]
    return "\n".join(lines)


def _heading(report):
    rows = [("date", report["date"]), ("seconds", round(report["spent_seconds"]))]
    rows += sorted(report["gpu"].items())
    for key, value in report["machine"].items():
        if isinstance(value, dict):
            rows += [(name, entry) for name, entry in value.items() if entry is not None]
        else:
            rows.append((key, value))
    return rows


def _part(report, part, title, mark):
    def of(key):
        return [entry for entry in report[key] if entry["part"] == part]

    if not any(of(key) for key in ("measurements", "skipped", "failed")):
        return []
    lines = [f"## {part}. {title}{mark}", ""]
    for table in of("tables"):
        lines += [f"### {table['title']}", ""] + _markdown_table(table["columns"], table["rows"]) + [""]
    for key, word in (("skipped", "skipped"), ("failed", "FAILED")):
        lines += [f"- {word}: {entry['name']}: {cell(entry['reason'])}" for entry in of(key)]
    return lines + [""]
