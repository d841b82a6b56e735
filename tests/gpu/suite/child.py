"""Runs one child program and keeps its output."""

import glob
import json
import os
import shlex
import signal
import subprocess
import time

from . import summaries


class Outcome:
    """Status is None if the child was stopped at its time limit. Records are the JSON lines of its stdout; `summaries`
    are convshim's, one a process, `summary` their total."""

    def __init__(self, name, command, status, seconds, stdout, stderr, reports=()):
        self.name = name
        self.command = command
        self.status = status
        self.seconds = seconds
        self.stdout = stdout
        self.stderr = stderr
        self.summaries = list(reports)
        self.summary = summaries.total(self.summaries)
        self.records = json_lines(stdout)

    @property
    def last_words(self):
        """The last line of its stderr, for a report."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1][:300] if lines else "no word on stderr"


def json_lines(text):
    """The lines that are JSON objects, without a line that was cut off."""
    records = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                records.append(json.loads(line))
            except ValueError:
                continue
    return records


def command_line(argv, settings):
    """The command line for running it again: the settings that differ from a bare environment, then the command."""
    return " ".join([f"{key}={shlex.quote(value)}" for key, value in settings.items()] + [shlex.join(argv)])


class Runner:
    """Runs children one after another; their output is kept under `folder`."""

    def __init__(self, folder, library):
        self.folder = folder
        self.library = library
        os.makedirs(folder, exist_ok=True)

    def preload(self, name, workspace):
        """The settings under which a child runs with convshim; workspace is a size such as 64MiB."""
        return {
            "LD_PRELOAD": self.library,
            "CONVSHIM_CONFIG": f"workspace={workspace}",
            "CONVSHIM_SUMMARY": "json:" + os.path.join(self.folder, f"{name}.summary.%p"),
            "CONVSHIM_LOG_FILE": os.path.join(self.folder, f"{name}.convshim.%p"),
        }

    def run(self, name, argv, limit, settings=None, workspace=None):
        settings = dict(settings or {})
        if workspace is not None:
            settings = {**self.preload(name, workspace), **settings}
        for old in self._files(name, "convshim") + self._files(name, "summary"):
            os.unlink(old)
        start = time.monotonic()
        status, stdout, stderr = _run(argv, _environment(settings), limit)
        seconds = time.monotonic() - start
        for ending, text in (("out", stdout), ("err", stderr)):
            with open(os.path.join(self.folder, f"{name}.{ending}"), "w", encoding="utf-8") as file:
                file.write(text)
        reports = summaries.read(self._files(name, "summary"))
        return Outcome(name, command_line(argv, settings), status, seconds, stdout, stderr, reports)

    def _files(self, name, what):
        return sorted(glob.glob(os.path.join(glob.escape(self.folder), glob.escape(name) + f".{what}.*")))


def _environment(settings):
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("CONVSHIM") and key not in ("LD_PRELOAD", "CUDNN_CONV_WSCAP_DBG")
    }
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", **settings}


def _run(argv, environment, limit):
    """(status or None at the limit, stdout, stderr). A child and all its children end at the limit."""
    try:
        process = subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return 127, "", f"{argv[0]}: {error.strerror}"
    status = None
    try:
        stdout, stderr = process.communicate(timeout=max(limit, 1))
        status = process.returncode
    except subprocess.TimeoutExpired:
        _end(process)
        stdout, stderr = process.communicate()
    except BaseException:
        _end(process)
        raise
    return status, stdout, stderr


def _end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
