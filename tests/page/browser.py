"""Chromium without a window, driven over a pair of pipes (--remote-debugging-pipe): JSON messages that end with a NUL
byte. No request leaves the machine, because no host name is resolved."""
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--hide-scrollbars",
         "--force-color-profile=srgb", "--font-render-hinting=none",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=direct://")


def find():
    """The program's path, or None."""
    return os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, NAMES) if path), None)


class Refused(Exception):
    """The browser answered a call with an error, or not in time."""


class Browser:
    """One process with one tab. `events` collects the tab's notifications, as (method, params)."""

    def __init__(self, limit_s=30):
        self.limit_s, self.events, self.number, self.rest, self.session = limit_s, [], 0, b"", None
        self.home = tempfile.mkdtemp(prefix="page-")
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        # Out of the way of the numbers that they get below.
        child = [fcntl.fcntl(theirs_in, fcntl.F_DUPFD, 10), fcntl.fcntl(theirs_out, fcntl.F_DUPFD, 10)]
        place = f'exec "$@" 3<&{child[0]} 4>&{child[1]}'
        environment = dict(os.environ, HOME=self.home, XDG_CONFIG_HOME=self.home, XDG_CACHE_HOME=self.home)
        for name in ("LD_PRELOAD", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
            environment.pop(name, None)
        self.log = open(os.path.join(self.home, "log"), "wb")
        command = ["bash", "-c", place, "-", find(), *FLAGS, "--user-data-dir=" + self.home, "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=child, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        for pipe in (theirs_in, theirs_out, *child):
            os.close(pipe)
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        except Refused:
            self.close()
            raise

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        for pipe in (self.to, self.back):
            os.close(pipe)
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self, end):
        """The next message; None at `end`."""
        while b"\0" not in self.rest:
            wait = end - time.monotonic()
            if wait <= 0 or not select.select([self.back], [], [], wait)[0]:
                return None
            data = os.read(self.back, 1 << 20)
            if not data:
                with open(self.log.name, encoding="utf-8", errors="replace") as log:
                    raise Refused("the browser ended: " + log.read()[-500:])
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        """The answer to one call; other messages become events."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data, end = json.dumps(message).encode() + b"\0", time.monotonic() + self.limit_s
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self._read(end)
            if answer is None:
                raise Refused(f"{method}: no answer in {self.limit_s} s")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Refused(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer and answer.get("sessionId") == self.session:
                self.events.append((answer["method"], answer["params"]))

    def wait(self, method):
        """Until that event has come."""
        end = time.monotonic() + self.limit_s
        while not any(name == method for name, _ in self.events):
            answer = self._read(end)
            if answer is None:
                raise Refused(f"no {method} in {self.limit_s} s")
            if "method" in answer and answer.get("sessionId") == self.session:
                self.events.append((answer["method"], answer["params"]))

    def evaluate(self, expression):
        """The value of the expression, as JSON."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Refused(f"evaluate: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def open(self, path):
        """Loads a file; `events` are those of this load."""
        self.events.clear()
        answer = self.call("Page.navigate", url="file://" + os.path.abspath(path))
        if "errorText" in answer:
            raise Refused(f"{path}: {answer['errorText']}")
        self.wait("Page.loadEventFired")
