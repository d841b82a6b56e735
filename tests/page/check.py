#!/usr/bin/env python3
"""check: opens pages of `convshim report --html` in Chromium and tries them.

    tests/page/check.py [--only WHERE,...] [--screenshots FOLDER] FILE...

WHERE is one of light, dark, telephone, print, sorting and scripts (the page without them). Prints "FILE: [where] FAULT" a line, and "FILE: N texts, N shapes, N columns sorted" for each.
Status 0: no fault; 1: a fault; 2: the browser does not work."""
import argparse
import base64
import os
import sys

import browser
import looks
import sorting

DOMAINS = ("Page", "Runtime", "Network", "Log")
WIDE, TELEPHONE, PAPER = 1280, 400, 718  # the last one: A4 between margins
WHERE = ("light", "dark", "telephone", "print", "sorting", "scripts")
USUAL_HEIGHT, MOST_HEIGHT = 900, 16000
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.js"), encoding="utf-8") as source:
    PROBE = source.read()


class Page:
    """One file in the browser, with its faults."""

    def __init__(self, tab, path, folder):
        self.tab, self.path, self.folder, self.found = tab, path, folder, []
        self.texts = self.shapes = self.sorted = 0

    def probe(self, call):
        return self.tab.evaluate(f"(() => {{ {PROBE}\nreturn probe.{call}; }})()")

    def open(self):
        self.tab.open(self.path)

    def wrong(self, where, what):
        self.found.append(f"{self.path}: [{where}] {what}")

    def show(self, width, scheme="light", media=""):
        """Sets the mode of display, and makes the window as high as the page."""
        self.tab.call("Emulation.setEmulatedMedia", media=media,
                      features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.size(width, USUAL_HEIGHT)
        self.size(width, min(max(self.probe("page()")["height"], 100), MOST_HEIGHT))

    def size(self, width, height):
        self.tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=width == TELEPHONE)

    def look(self, where, width, scheme="light", media=""):
        """The checks that hold in every mode; returns the page's own counts."""
        self.show(width, scheme, media)
        page, texts, plots = (self.probe(call) for call in ("page()", "texts()", "plots()"))
        for what in looks.findings(page, texts, plots, width):
            self.wrong(where, what)
        self.texts, self.shapes = len(texts), sum(len(plot["shapes"]) for plot in plots)
        if self.folder:
            name = os.path.basename(self.path) + "." + where.replace(" ", "-") + ".png"
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(base64.b64decode(self.tab.call("Page.captureScreenshot")["data"]))
        return page

    def light(self):
        paper = self.look("light", WIDE)["paper"]
        if looks.luminance(paper) < 0.8:
            self.wrong("light", f"the paper is {paper}")

    def dark(self):
        paper = self.look("dark", WIDE, "dark")["paper"]
        if looks.luminance(paper) > 0.1:
            self.wrong("dark", f"the paper is {paper}")

    def telephone(self):
        self.look("telephone", TELEPHONE)

    def print(self):
        """Also of a screen that is dark."""
        paper = self.look("print", PAPER, "dark", "print")["paper"]
        if looks.luminance(paper) < 0.8:
            self.wrong("print", f"the paper is {paper}")

    def sorting(self):
        """In a window of usual height, since every press of a key paints all of it."""
        self.size(WIDE, USUAL_HEIGHT)
        self.sorted = sorting.check(self)
        found = self.probe("filter('1 forward')")
        if found and (found["left"] != found["matching"] or found["back"] != found["rows"]):
            self.wrong("sorting", f"the filter: {found}")

    def scripts(self):
        """Without scripts the page has the same contents."""
        self.open()
        self.show(WIDE)
        words = self.probe("page()")["words"]
        self.tab.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.open()
            page = self.look("scripts", WIDE)
        finally:
            self.tab.call("Emulation.setScriptExecutionDisabled", value=False)
        if page["words"] != words:
            self.wrong("scripts", f"says {len(page['words'])} characters without them, {len(words)} with them")
        if page["buttons"]:
            self.wrong("scripts", f"{page['buttons']} buttons that do nothing without them")

    def events(self, where):
        """The browser's reports about a load: requests, exceptions, words on the console."""
        own = "file://" + os.path.abspath(self.path)
        for method, told in self.tab.events:
            if method == "Network.requestWillBeSent" and told["request"]["url"] != own:
                self.wrong(where, f"a request: {told['request']['url'][:120]}")
            elif method == "Network.webSocketCreated":
                self.wrong(where, f"a request: {told['url'][:120]}")
            elif method == "Runtime.exceptionThrown":
                details = told["exceptionDetails"]
                text = details.get("exception", {}).get("description", details["text"])
                self.wrong(where, f"an exception: {text[:200]}")
            elif method == "Runtime.consoleAPICalled":
                self.wrong(where, f"on the console: {told['type']} {str(told['args'])[:200]}")
            elif method == "Log.entryAdded":
                self.wrong(where, f"on the console: {told['entry']['level']} {told['entry']['text'][:200]}")
        self.tab.events.clear()

    def check(self, only):
        self.show(WIDE)
        self.open()
        for where in only:
            getattr(self, where)()
            self.events(where)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screenshots", metavar="FOLDER")
    parser.add_argument("--only", metavar="WHERE,...", default=",".join(WHERE))
    parser.add_argument("file", nargs="+")
    options, found = parser.parse_args(), 0
    only = options.only.split(",")
    if not set(only) <= set(WHERE):
        parser.error(f"--only {options.only}: not known")
    with browser.Browser() as tab:
        for domain in DOMAINS:
            tab.call(domain + ".enable")
        for path in options.file:
            page = Page(tab, path, options.screenshots)
            page.check(only)
            found += len(page.found)
            for line in page.found:
                print(line)
            print(f"{path}: {page.texts} texts, {page.shapes} shapes, {page.sorted} columns sorted")
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (browser.Refused, OSError) as error:
        print(f"check: {error}", file=sys.stderr)
        sys.exit(2)
