"""Checks the page of a report: check_page.py PAGE DOM. DOM has the elements that its script made. Elements nest, nothing refers to
elsewhere, a policy forbids requests, both colour schemes exist."""
import re
import sys
from html.parser import HTMLParser

VOID = {"meta"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.policy, self.count = [], [], "", {}

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "action", "style") or name.startswith("on"):
                self.wrong.append(f"<{tag} {name}={value}>")
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> ends nothing")


text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text[:text.index("<script")] + open(sys.argv[2], encoding="utf-8").read())
page.close()
wrong = page.wrong + [f"<{tag}> does not end" for tag in page.open]
if "default-src 'none'" not in page.policy:
    wrong.append(f"policy: {page.policy!r}")
if re.search(r"https?:|url\(|@import|//[a-z]", text):
    wrong.append("a reference to elsewhere")
if "prefers-color-scheme:dark" not in text.replace(": ", ":"):
    wrong.append("no dark scheme")
if page.count.get("svg", 0) < 3 or page.count.get("table") != 3 or page.count.get("script"):
    wrong.append(f"elements: {page.count}")
print("\n".join(wrong))
sys.exit(bool(wrong))
