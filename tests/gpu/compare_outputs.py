"""Compares two files of saved tensors (.pt of measure.py, or .npz), bit by bit and by size; one JSON line on stdout.

Keys: tensors, bit_equal, worst (name), max_abs (largest difference), max_rel (the same by the largest value of that
tensor), max_rel_of (which tensor). With --reference FILE also reference_a and reference_b: the largest relative
difference of each from the reference. Status: 0, equal or not; 1 if the files do not hold the same tensors.
"""

import argparse
import json
import sys


def load(path):
    """Tensors by name."""
    if path.endswith(".npz"):
        import numpy

        with numpy.load(path) as arrays:
            return {name: arrays[name] for name in arrays.files}
    import torch

    return torch.load(path, weights_only=True)


def bits(tensor):
    if hasattr(tensor, "numpy"):
        import torch

        return tensor.contiguous().reshape(-1).view(torch.uint8)
    return tensor.reshape(-1).view("uint8")


def in_double(tensor):
    return tensor.double() if hasattr(tensor, "double") else tensor.astype("float64")


def bit_equal(a, b):
    return a.dtype == b.dtype and bool((bits(a) == bits(b)).all())


def difference(a, b):
    """(largest absolute difference, the same by b's largest value); NaN in one only counts as infinite."""
    a, b = in_double(a), in_double(b)
    if a.reshape(-1).shape[0] == 0:
        return 0.0, 0.0
    if bool(((a != a) != (b != b)).any()):
        return float("inf"), float("inf")
    both = (a == a) & (b == b)
    if not bool(both.any()):
        return 0.0, 0.0
    a, b = a[both], b[both]
    equal = a == b  # also where both are infinite
    rest = abs(a - b)[~equal]
    worst = float(rest.max()) if len(rest) else 0.0
    scale = float(abs(b).max())
    return worst, worst / scale if scale else (float("inf") if worst else 0.0)


def compare(a, b):
    """The result for two dicts of tensors, or ValueError if they cannot be compared."""
    if a.keys() != b.keys():
        raise ValueError(f"other tensors: {sorted(a.keys() ^ b.keys())[:5]}")
    result = {
        "tensors": len(a),
        "bit_equal": True,
        "worst": None,
        "max_abs": 0.0,
        "max_rel": 0.0,
        "max_rel_of": None,
    }
    for name in sorted(a):
        if tuple(a[name].shape) != tuple(b[name].shape):
            raise ValueError(f"{name}: shapes {tuple(a[name].shape)} and {tuple(b[name].shape)}")
        if bit_equal(a[name], b[name]):
            continue
        result["bit_equal"] = False
        absolute, relative = difference(a[name], b[name])
        if result["worst"] is None or absolute > result["max_abs"]:
            result["worst"], result["max_abs"] = name, absolute
        if result["max_rel_of"] is None or relative > result["max_rel"]:
            result["max_rel_of"], result["max_rel"] = name, relative
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--reference", help="results in double precision")
    options = parser.parse_args()
    try:
        a, b = load(options.a), load(options.b)
        result = compare(a, b)
        if options.reference:
            reference = load(options.reference)
            for key, tensors in (("reference_a", a), ("reference_b", b)):
                result[key] = max(difference(tensors[name], reference[name])[1] for name in reference)
    except (OSError, ValueError, KeyError) as error:
        print(f"compare_outputs: {error}", file=sys.stderr)
        sys.exit(1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
