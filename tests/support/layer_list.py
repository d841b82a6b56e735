"""Lists of convolutions as `convshim predict --layers` reads them: SHAPE, LAYER, MODEL in each line."""
AXES = "dhw"


def parse(line):
    """A line as numbers by name: n, c, d, h, w, k, kernel (kd, ...), stride, padding, groups. Other words are texts."""
    shape, layer, model = (part.strip() for part in line.split(","))
    extents, _, channels, *words = shape.split()
    extents = [int(extent) for extent in extents.split("x")]
    axes = AXES[-(len(extents) - 2):]
    row = {"model": model, "layer": layer, "dir": "fwd", "n": extents[0], "c": extents[1], "d": 1, "h": 1, "w": 1, "k": int(channels),
           "groups": 1}
    row.update({first + axis: number for first, number in (("k", 1), ("s", 1), ("p", 0)) for axis in AXES})
    row.update(zip(axes, extents[2:]))
    for word in words:
        if word in ("dgrad", "wgrad"):
            row["dir"] = word
        elif word in ("f16", "f32", "bf16"):
            row["dtype"] = word
        elif word[0] == "g":
            row["groups"] = int(word[1:])
        else:
            numbers = [int(number) for number in word[1:].split("x")] * (len(axes) if "x" not in word else 1)
            row.update({word[0] + axis: number for axis, number in zip(axes, numbers)})
    return row


def text(row):
    """The line of a row, as 3-D."""
    def window(first):
        return first + "x".join(str(row[first + axis]) for axis in AXES)
    extents = "x".join(str(row[key]) for key in ("n", "c", "d", "h", "w"))
    direction = "" if row["dir"] == "fwd" else " " + row["dir"]
    return (f"{extents} -> {row['k']} {window('k')} {window('s')} {window('p')} g{row['groups']} {row['dtype']}{direction}, "
            f"{row['layer']}, {row['model']}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return [parse(line) for line in file]
