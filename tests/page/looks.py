"""Rules for the texts and shapes of a document, as measured by probe.js."""
import re

UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}
SLACK = 1.5        # pixels
SMALLEST = 9.9     # pixels of a font
TEXT_CONTRAST = 4.5
SHAPE_CONTRAST = 3
MARKS = ("before", "after", "only")  # classes of shapes that stand for a number


def size(text):
    """(bytes, how far that may be off because it was rounded) of "64 MiB"; None if it is no size."""
    match = re.fullmatch(r"(\d+(?:\.(\d+))?) ([KMGTPE]?i?B)", text.strip())
    if not match or match[3] not in UNITS:
        return None
    unit = 1 << UNITS[match[3]]
    return float(match[1]) * unit, 0.51 * unit * 10 ** -len(match[2] or "0") if unit > 1 else 0


def luminance(color):
    """The definition in WCAG."""
    parts = [value / 255 for value in color[:3]]
    parts = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def inside(inner, outer):
    return (inner[0] >= outer[0] - SLACK and inner[1] >= outer[1] - SLACK and
            inner[2] <= outer[2] + SLACK and inner[3] <= outer[3] + SLACK)


def overlaps(texts):
    """Pairs of texts of which lines cover each other; fonts leave room above and below their letters."""
    lines = sorted(((line[1], line, text) for text in texts for line in text["lines"]), key=lambda entry: entry[0])
    for i, (_, a, first) in enumerate(lines):
        slack = 0.2 * (a[3] - a[1])
        for _, b, second in lines[i + 1:]:
            if b[1] >= a[3] - slack:
                break
            if first is not second and b[0] < a[2] - SLACK and a[0] < b[2] - SLACK:
                yield first["text"], second["text"]


def of_texts(texts):
    for text in texts:
        name = repr(text["text"])
        if not text["seen"]:
            yield f"text {name} is not to be seen"
            continue
        for line in text["lines"]:
            if not inside(line, text["box"]):
                yield f"text {name} runs out of its box: {line} of {text['box']}"
            if text["clip"] and not inside(line, text["clip"]):
                yield f"text {name} is cut off: {line} of {text['clip']}"
        if text["size"] < SMALLEST:
            yield f"text {name} is {text['size']:.1f} px small"
        if text["behind"] is None:
            continue  # scrolled out of the window, as its neighbours in view are not
        ratio = contrast(text["color"], text["behind"])
        if ratio < TEXT_CONTRAST or text["color"][3] < 0.99:
            yield f"text {name} has contrast {ratio:.2f}: {text['color']} on {text['behind']}"
    for first, second in overlaps(texts):
        yield f"text {first!r} overlaps {second!r}"


def of_shape(shape, plot, paper):
    box, name = shape["box"], f"{shape['kind']} of class {shape['class']}"
    width, height = box[2] - box[0], box[3] - box[1]
    if width <= 0 and height <= 0 or shape["kind"] == "rect" and (width <= 0 or height <= 0):
        yield f"shape {name} has no size: {box}"
    if not inside(box, plot["box"]):
        yield f"shape {name} leaves its picture: {box} of {plot['box']}"
    if not shape["painted"] and shape["title"] is None:
        yield f"shape {name} has no colour"
    if shape["class"] in MARKS and contrast(shape["fill"], paper) < SHAPE_CONTRAST:
        yield f"shape {name} has contrast {contrast(shape['fill'], paper):.2f}"
    if shape["title"] is not None and not re.search(r"\d", shape["title"]):
        yield f"shape {name} has a title without a number"


def of_bars(plots):
    """Bars are as long as the values next to them: (class, width in pixels, bytes) of a group, one scale."""
    groups = {}
    for plot in plots:
        if plot["value"] is None:
            continue
        sizes = [size(part) for part in plot["value"].split("→")]
        if None in sizes:
            yield f"bar without a size: {plot['value']!r}"
            continue
        bars = [shape for shape in plot["shapes"] if shape["class"] in MARKS]
        drawn = [entry for entry in sizes if entry[0] > 0]
        if len(bars) != len(drawn):
            yield f"{len(bars)} bars for {plot['value']!r}"
        pairs = [(bar["box"][2] - bar["box"][0], *entry) for bar, entry in zip(bars, drawn)]
        groups.setdefault(plot["group"], []).extend(pairs)
    for pairs in groups.values():
        longest = max(pairs, key=lambda pair: pair[1], default=None)
        for width, amount, rounded in pairs:
            wanted = longest[0] * amount / longest[1]
            if abs(width - wanted) > 2 + longest[0] * (rounded + longest[2]) / longest[1]:
                yield f"a bar for {amount:.0f} B is {width:.1f} px wide, not {wanted:.1f}"


def of_plots(plots, paper):
    for plot in plots:
        if plot["box"][2] - plot["box"][0] <= 0 or plot["box"][3] - plot["box"][1] <= 0:
            yield "a picture without a size"
        if not plot["shapes"] and not plot["texts"] and plot["value"] is None:
            yield "a picture with nothing in it"
        if (plot["image"] or plot["value"] is not None) and not any(re.search(r"\d", title) for title in plot["titles"]):
            yield "a picture that tells no numbers when it is pointed at"
        for shape in plot["shapes"]:
            yield from of_shape(shape, plot, paper)
    yield from of_bars(plots)


def findings(page, texts, plots, width):
    """All that is wrong, as texts."""
    if page["inner"] != width:
        yield f"laid out {page['inner']} px wide, not {width}"
    if max(page["scroll"], page["body"]) > page["inner"]:
        yield f"{max(page['scroll'], page['body'])} px wide in a window of {page['inner']}"
    for element in page["outside"]:
        yield f"refers to elsewhere: {element}"
    if not texts:
        yield "no text at all"
    yield from of_texts(texts)
    yield from of_plots(plots, page["paper"])
