#!/usr/bin/env python3
"""The reason why a layer stays over a cap: its smallest possible tiles, and their workspace by cuDNN.

smallest.py list LAYERS DIRECTION LEFT          prints these tiles as a list of layers
smallest.py judge LAYERS DIRECTION LEFT TOLD    a line for each layer left with its smallest workspace; status 1 if some
                                                possible tiles of one come under the cap

LEFT has a line "MODEL/LAYER CAP" for each layer that stays over CAP bytes. TOLD is the output of plan_layers --all for LAYERS
and for the list. The possible tiles are defined here a second time, from the documentation: one cut or the product of two,
1024 tiles at most, channels in eights; slices along C have a packed copy of their filter. Tiles run the client's engine with
any knobs. If cuDNN does not offer it for a tile and for the untiled layer, engines with the same notes are used, because
others compute differently.
"""
import csv
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import layer_list  # noqa: E402

MOST = 1024
IMAGE = {"d": "kd", "h": "kh", "w": "kw"}
SIZES = {"f32": 4, "f16": 2, "bf16": 2}


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def name(layer):
    return layer["model"] + "/" + layer["layer"]


def axes(layer, direction):
    """The axes that may be cut."""
    channels = {"forward": ["k"], "data": ["c"], "filter": ["k", "c"]}[direction] if layer["groups"] == 1 else []
    summed = direction == "filter" and layer["dtype"] != "f32"
    return channels + ([] if summed else ["n", "d", "h", "w"])


def output(layer, axis):
    taps, stride, pad = (layer[first + axis] for first in "ksp")
    return (layer[axis] + 2 * pad - taps) // stride + 1


def extent(layer, axis, direction):
    """The extent of an axis, and its unit."""
    if axis in ("k", "c"):
        return layer[axis], 8 if layer[axis] > 8 else 1
    if axis == "n":
        return layer["n"], 1
    return (layer[axis], layer["s" + axis]) if direction == "data" else (output(layer, axis), 1)


def finest(layer, axis, tiles, direction):
    """The extents of the smallest of the largest tiles along an axis, and how many there are; None if it cannot be cut."""
    whole, unit = extent(layer, axis, direction)
    units = -(-whole // unit)
    tiles = min(tiles, units)
    if tiles < 2:
        return None
    step = -(-units // tiles)
    tiles, step = -(-units // step), step * unit
    if axis not in IMAGE:
        return tiles, {axis: step}
    taps, stride, pad = (layer[first + axis] for first in "ksp")
    if direction == "data":
        # All that reaches the rows of an inner tile; of two tiles each has padding on one side.
        return tiles, {axis: step, "p" + axis: taps - 1 if tiles > 2 else pad}
    rows = (step - 1) * stride + taps
    return (tiles, {axis: rows, "p" + axis: 0}) if tiles > 2 else (tiles, {axis: max(rows - 2 * pad, 1), "p" + axis: pad})


def products(layer, direction):
    """The finest cuts along one axis, and the finest of each pair with every count of the one that is a power of two."""
    known = axes(layer, direction)
    for axis in known:
        yield [finest(layer, axis, MOST, direction)]
    for outer, inner in itertools.permutations(known, 2):
        for count in (2**i for i in range(1, 10)):
            first = finest(layer, outer, count, direction)
            yield [first, first and finest(layer, inner, MOST // first[0], direction)]


def tiles_of(layer, direction):
    """Every smallest tile: its name, and the layer that it is."""
    found = {}
    for cuts in products(layer, direction):
        if None in cuts:
            continue
        tile = dict(layer)
        for _, changed in cuts:
            tile.update(changed)
        window = "-".join("".join(str(tile[first + axis]) for axis in "dhw") for first in "ksp")
        shape = "x".join(str(tile[key]) for key in ("n", "c", "d", "h", "w", "k"))
        tile["model"], tile["layer"] = "tile", f"{shape}-{window}-{tile['groups']}-{tile['dtype']}"
        found[tile["layer"]] = tile
    sizes = {key: [tile[k] for k in ("n", "c", "d", "h", "w", "k")] for key, tile in found.items()}
    return {key: tile for key, tile in found.items() if not any(smaller(other, sizes[key]) for other in sizes.values())}


def smaller(one, other):
    return one != other and all(a <= b for a, b in zip(one, other))


def staged(tile, whole, direction):
    """Bytes of a packed slice of the filter."""
    if direction == "forward" or tile["c"] == whole["c"]:
        return 0
    return tile["k"] * tile["c"] * tile["kd"] * tile["kh"] * tile["kw"] * SIZES[tile["dtype"]]


def left(path):
    with open(path, encoding="utf-8") as file:
        return [(line.split()[0], int(line.split()[1])) for line in file if line.strip()]


def show_list(layers, direction, remaining):
    found = {}
    for layer in {which for which, _ in remaining}:
        found.update(tiles_of(layers[layer], direction))
    for layer in found.values():
        print(layer_list.text(layer))


def least(answers, key, value):
    return min((int(a["workspace"]) for a in answers if a["status"] == "ok" and a[key] == value), default=None)


def judge(layers, direction, remaining, told):
    answers = {}
    for answer in told:
        answers.setdefault(name(answer), []).append(answer)
    good = True
    for layer, cap in remaining:
        whole = layers[layer]
        clients = answers[layer][0]
        wants = {"whole": least(answers[layer], "notes", clients["notes"])}
        for tile in tiles_of(whole, direction).values():
            bytes_of = least(answers.get(name(tile), []), "engine", clients["engine"])
            if bytes_of is None:
                bytes_of = least(answers.get(name(tile), []), "notes", clients["notes"])
            wants[tile["layer"]] = bytes_of and bytes_of + staged(tile, whole, direction)
        known = {tile: bytes_of for tile, bytes_of in wants.items() if bytes_of is not None}
        smallest = min(known, key=known.get)
        proved = known[smallest] > cap
        good = good and proved
        print(f"#   {cap >> 20} MiB: {layer} wants {known[smallest] / 2**20:.1f} MiB at least ({smallest})"
              + ("" if proved else ", which would come under it"))
    return good


def main(mode, path, direction, remaining, told=None):
    layers = {name(layer): layer for layer in layer_list.read(path)}
    if mode == "list":
        show_list(layers, direction, left(remaining))
        return 0
    return 0 if judge(layers, direction, left(remaining), read(told)) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
