"""The smallest capacity on which a VAE decoder runs in a framework that caches device memory as PyTorch does.

    caching_allocator.py LAYERS PLANS MODEL...

LAYERS is a list of convolutions as tests/data/conv_layers.csv, PLANS the output of `plan_layers --all` for it: the workspaces of
all plans that cuDNN offers for a layer, in its order. Prints MODEL,MIB for each model. No device is used.

The allocator: sizes are rounded to 512 bytes; up to 1 MiB they come out of segments of 2 MiB, up to 10 MiB of segments of 20 MiB,
beyond out of segments of their own size, rounded to 2 MiB. The smallest free block that is large enough is taken and split;
neighbours are merged when they are freed. If no segment can be allocated, all wholly free segments are released first.
A convolution whose workspace cannot be allocated takes its next plan. The decoder is called three times, as in a program that
goes on.
"""
import bisect
import csv
import sys

import layer_list

MIB = 1 << 20
CALLS = 3


class OutOfMemory(Exception):
    pass


class Block:
    def __init__(self, size, small, address):
        self.size, self.small, self.address = size, small, address
        self.before = self.behind = None


class Allocator:
    def __init__(self, capacity):
        self.room, self.used, self.peak, self.address = capacity, 0, 0, 0
        self.free_blocks = {True: [], False: []}

    def put(self, block):
        bisect.insort(self.free_blocks[block.small], block, key=lambda b: (b.size, b.address))

    def take(self, block):
        self.free_blocks[block.small].remove(block)

    def segment(self, size, small):
        if self.used + size > self.room:
            return None
        self.used += size
        self.peak = max(self.peak, self.used)
        self.address += 2 * size
        block = Block(size, small, self.address)
        self.put(block)
        return block

    def give_back(self):
        for blocks in self.free_blocks.values():
            for block in [b for b in blocks if not b.before and not b.behind]:
                blocks.remove(block)
                self.used -= block.size

    def malloc(self, size):
        size = max(512, -(-size // 512) * 512)
        small = size <= MIB
        block = next((b for b in self.free_blocks[small] if b.size >= size), None)
        if not block:
            whole = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
            block = self.segment(whole, small)
            if not block:
                self.give_back()
                block = self.segment(whole, small)
            if not block:
                raise OutOfMemory
        self.take(block)
        if block.size - size >= (512 if small else MIB + 1):
            rest = Block(block.size - size, small, block.address + size)
            rest.before, rest.behind, block.behind, block.size = block, block.behind, rest, size
            if rest.behind:
                rest.behind.before = rest
            self.put(rest)
        return block

    def free(self, block):
        for first, second in ((block, block.behind), (block.before, block)):
            other = second if first is block else first
            if other and other in self.free_blocks[block.small]:
                self.take(other)
                first.size += second.size
                first.behind = second.behind
                if first.behind:
                    first.behind.before = first
                block = first
        self.put(block)


class Decoder:
    """Activations of diffusers' AutoencoderKL: a group norm and an activation before every convolution of a block, both into new
    memory, sums and the division after them likewise. A caller holds its arguments until the call returns: a block's input lives
    as long as its shortcut, a stage's input until the end of the stage."""

    def __init__(self, layers, plans, capacity):
        self.layers, self.plans, self.memory = layers, plans, Allocator(capacity)
        self.chosen = {}
        for layer in layers.values():
            self.memory.malloc(layer["w"])

    def one(self, size, *instead):
        block = self.memory.malloc(size)
        for old in instead:
            self.memory.free(old)
        return block

    def workspace(self, name):
        sizes = self.plans[name] + [0]  # cuDNN's fallbacks have one without
        for at in range(self.chosen.get(name, 0), len(sizes)):
            try:
                block = self.memory.malloc(sizes[at]) if sizes[at] else None
            except OutOfMemory:
                continue
            self.chosen[name] = at
            return block
        raise OutOfMemory

    def convolve(self, name):
        """The output of a layer whose input the caller has."""
        out = self.memory.malloc(self.layers[name]["y"])
        scratch = self.workspace(name)
        if scratch:
            self.memory.free(scratch)
        return out

    def residual(self, name):
        """The input, which the caller has, stays."""
        size = self.layers[name + ".conv1"]["x"]
        active = self.one(size, self.memory.malloc(size))
        middle = self.convolve(name + ".conv1")
        self.memory.free(active)
        size = self.layers[name + ".conv2"]["x"]
        active = self.one(size, self.one(size, middle))
        hidden = self.convolve(name + ".conv2")
        self.memory.free(active)
        skip = self.convolve(name + ".shortcut") if name + ".shortcut" in self.layers else None
        total = self.memory.malloc(size)
        return self.one(size, total, hidden, *([skip] if skip else []))

    def stage(self, number, x):
        given = x
        for block in range(3):
            y = self.residual(f"up{number}.res{block}")
            if x is not given:
                self.memory.free(x)
            x = y
        name = f"up{number}.upsample"
        if name in self.layers:
            large = self.memory.malloc(self.layers[name]["x"])
            y = self.convolve(name)
            self.memory.free(large)
            self.memory.free(x)
            x = y
        self.memory.free(given)
        return x

    def call(self):
        x = self.memory.malloc(self.layers["conv_in"]["x"])
        for name in ("conv_in", "mid.res0", "mid.res1"):
            y = self.convolve(name) if name == "conv_in" else self.residual(name)
            self.memory.free(x)
            x = y
        for number in range(4):
            x = self.stage(number, x)
        size = self.layers["conv_out"]["x"]
        active = self.one(size, self.one(size, x))
        out = self.convolve("conv_out")
        self.memory.free(active)
        self.memory.free(out)


def runs(layers, plans, capacity):
    try:
        decoder = Decoder(layers, plans, capacity)
        for _ in range(CALLS):
            decoder.call()
    except OutOfMemory:
        return None
    return decoder.memory.peak


def smallest(layers, plans):
    fits, fails = runs(layers, plans, 1 << 50), 0
    while fits - fails > MIB:
        middle = (fits + fails) // 2
        if runs(layers, plans, middle):
            fits = middle
        else:
            fails = middle
    return -(-fits // MIB)


def sizes(row):
    """Bytes of x, w and y of a row of the list, whose extents are kept by padding and divided by the stride."""
    element = 4 if row["dtype"] == "f32" else 2
    pixels = row["n"] * row["d"] * row["h"] * row["w"] * element
    window = row["kd"] * row["kh"] * row["kw"] * element
    strides = row["sd"] * row["sh"] * row["sw"]
    return {"x": row["c"] * pixels, "w": row["c"] * row["k"] * window, "y": row["k"] * pixels // strides}


def main():
    layers, plans = {}, {}
    for row in layer_list.read(sys.argv[1]):
        layers.setdefault(row["model"], {})[row["layer"]] = sizes(row)
    with open(sys.argv[2], encoding="utf-8") as file:
        for model, layer, _, _, _, status, workspace, *_ in csv.reader(file):
            if status == "ok":
                plans.setdefault(model, {}).setdefault(layer, []).append(int(workspace))
    for model in sys.argv[3:]:
        print(f"{model},{smallest(layers[model], plans[model])}")


if __name__ == "__main__":
    main()
