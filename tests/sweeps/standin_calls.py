#!/usr/bin/env python3
"""Compares src/simdev/libraries/standin_calls.def with the prototypes in NVIDIA's headers. Prints TAP, one point for each library; status 1 if one fails.

    tests/sweeps/standin_calls.py FOLDER...

FOLDER has headers (nccl.h, cublas_api.h, cusparse.h, cusolverDn.h, curand.h). Each library of which a header is there is compared. Each
result that a line of standin_calls.def writes (ARG:BYTES) must be a pointer of that function, to an object of that size that is not constant.
"""
import fnmatch
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
HEADERS = {"nccl": ["nccl.h"], "cublas": ["cublas_api.h"], "cublasLt": ["cublasLt.h"], "cusparse": ["cusparse.h"],
           "cusolver": ["cusolverDn.h", "cusolver_common.h"], "cufft": ["cufft.h"], "curand": ["curand.h"]}
BYTES = {"int": 4, "unsigned int": 4, "unsigned": 4, "float": 4, "uint32_t": 4, "double": 8, "size_t": 8, "int64_t": 8,
         "uint64_t": 8, "long long": 8, "unsigned long long": 8, "cuComplex": 8, "cuDoubleComplex": 16}


def rules():
    """{library: [(kind, [(argument, bytes)], [pattern])]}"""
    found, library = {}, None
    for line in open(os.path.join(ROOT, "src/simdev/libraries/standin_calls.def"), encoding="utf-8"):
        line = line.split("#", 1)[0].strip()
        if line.startswith("library "):
            library = line.split()[1]
        elif line:
            head, _, patterns = line.partition(" : ")
            kind, *results = head.split()
            found.setdefault(library, []).append((kind, [tuple(map(int, one.split(":"))) for one in results], patterns.split()))
    return found


def declarations(texts):
    """({function: [parameter type]}, {type: bytes}) of headers without their comments."""
    functions, sizes = {}, dict(BYTES)
    for text in texts:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
        text = re.sub(r"^\s*#.*?(?<!\\)$", " ", text, flags=re.S | re.M)
        for name in re.findall(r"typedef\s+(?:const\s+)?struct\s+\w+\s*\*\s*(\w+)\s*;", text):
            sizes[name] = 8
        for name in re.findall(r"typedef\s+enum[^{;]*\{[^}]*\}\s*(\w+)\s*;", text):
            sizes[name] = 4
        for name, parameters in re.findall(r"\b((?:cu|nccl)\w+)\s*\(([^()]*)\)\s*(?:\w+\s*)?;", text):
            functions.setdefault(name, [parameter.strip() for parameter in parameters.split(",")])
    return functions, sizes


def fault(function, parameters, argument, size, sizes):
    """The reason why this result cannot be written, or None."""
    if argument >= len(parameters):
        return f"{function} has {len(parameters)} arguments"
    text = re.sub(r"\bstruct\b", " ", re.sub(r"\[\w*\]", "*", parameters[argument]))
    text = re.sub(r"\b\w+$", "", text).strip() if not text.endswith("*") else text
    if "*" not in text or re.match(r"const\b[^*]*\*$", text):
        return f"argument {argument} of {function} is no result: {parameters[argument]}"
    pointee = text[:text.rindex("*")].strip()
    known = 8 if pointee.endswith("*") else sizes.get(pointee)
    if known is not None and known != size:
        return f"argument {argument} of {function} has {known} bytes: {parameters[argument]}"
    return None


def compare(lines, functions, sizes):
    faults, compared = [], 0
    for function, parameters in functions.items():
        line = next((line for line in lines if any(fnmatch.fnmatchcase(function, pattern) for pattern in line[2])), None)
        for argument, size in line[1] if line else ():
            compared += 1
            faults.append(fault(function, parameters, argument, size, sizes))
    return [one for one in faults if one], compared


def main(folders):
    points, failed = 0, False
    for library, lines in rules().items():
        paths = [os.path.join(folder, name) for name in HEADERS.get(library, ()) for folder in folders]
        texts = [open(path, encoding="utf-8", errors="replace").read() for path in paths if os.path.exists(path)]
        if not texts:
            continue
        functions, sizes = declarations(texts)
        faults, compared = compare(lines, functions, sizes)
        points, failed = points + 1, failed or bool(faults)
        print(f"{'not ok' if faults or not functions else 'ok'} {points} - {library}: {compared} results of {len(functions)} functions")
        for one in faults:
            print("#", one)
    print(f"1..{points}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
