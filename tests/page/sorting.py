"""Sorts every column of every sortable table of a page, by mouse and by keyboard, and looks at the order."""
import re

import looks

KEYS = {"Enter": ("Enter", 13, "\r"), " ": ("Space", 32, " ")}


def click(page, table, column):
    x, y = page.probe(f"heading({table}, {column})")
    for kind in ("mousePressed", "mouseReleased"):
        page.tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def press(page, table, column, key):
    if not page.probe(f"focus({table}, {column})"):
        page.wrong("sorting", f"table {table}, column {column}: the heading does not take the focus")
    code, number, text = KEYS[key]
    common = {"key": key, "code": code, "windowsVirtualKeyCode": number}
    page.tab.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
    page.tab.call("Input.dispatchKeyEvent", type="keyUp", **common)


def amount(text, number):
    """The sort key of a cell, read from its text; None if it is empty. Sizes as (least, most)."""
    if text == "-":
        return None
    if not number:
        return text
    size = looks.size(text)
    return (size[0] - size[1], size[0] + size[1]) if size else (float(text), float(text))


def in_order(a, b, number):
    """Whether a may come before b, upwards. In texts, numbers count as numbers, as a reader expects of 9x9 and
    10x10, and case is ignored. Other characters come before both and in any order."""
    if number:
        return a[0] <= b[1]
    pair = [re.findall(r"\d+|[A-Za-z]|[^A-Za-z\d]", text) for text in (a, b)]
    for x, y in zip(*pair):
        if not x.isascii() or not y.isascii() or x != y and not x.isalnum() and not y.isalnum():
            return True
        kinds = [(piece.isalnum(), piece.isalpha()) for piece in (x, y)]
        if kinds[0] != kinds[1]:
            return kinds[0] < kinds[1]
        x, y = (int(x), int(y)) if x.isdigit() else (x.casefold(), y.casefold())
        if x != y:
            return x < y
    return len(pair[0]) <= len(pair[1])


def is_sorted(cells, number, up):
    values = [amount(text, number) for text in cells]
    there = [value for value in values if value is not None]
    if values[:len(there)] != there:
        return False  # what is absent is not last
    pairs = zip(there, there[1:]) if up else zip(there[1:], there)
    return all(in_order(a, b, number) for a, b in pairs)


def judge(page, before, index, column, how, up):
    """The table after a heading was pressed."""
    table = page.probe("tables()")[index]
    name = f"{table['name']}, column {table['headings'][column]['text']!r}, by {how}"
    marks = [heading["sort"] for heading in table["headings"]]
    wanted = [None] * len(marks)
    wanted[column] = "ascending" if up else "descending"
    if marks != wanted:
        page.wrong("sorting", f"{name}: aria-sort is {marks}")
    if sorted(table["rows"]) != sorted(before["rows"]):
        page.wrong("sorting", f"{name}: rows got lost")
    cells = [row[column] for row in table["rows"]]
    if not is_sorted(cells, table["headings"][column]["number"], up):
        page.wrong("sorting", f"{name}: not {wanted[column]}: {cells[:8]}")


def column_of(page, tables, index, column):
    """Largest numbers and first letters first; the same heading turns the order round; twice is back again."""
    up = not tables[index]["headings"][column]["number"]
    click(page, index, column)
    judge(page, tables[index], index, column, "mouse", up)
    press(page, index, column, "Enter")
    judge(page, tables[index], index, column, "Enter", not up)
    press(page, index, column, " ")
    judge(page, tables[index], index, column, "Space", up)


def check(page):
    """How many columns with different values there were."""
    tables, count = page.probe("tables()"), 0
    for index, table in enumerate(tables):
        for column, heading in enumerate(table["headings"]):
            if table["sorts"] != heading["button"]:
                page.wrong("sorting", f"{table['name']}, column {heading['text']!r}: a button {heading['button']}")
            if table["sorts"] and len({row[column] for row in table["rows"]}) > 1:
                column_of(page, tables, index, column)
                count += 1
    return count
