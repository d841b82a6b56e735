"""Finds libconvshim.so and declares its functions (include/convshim.h)."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Iterator

NAME = "libconvshim.so"


def places() -> Iterator[Path]:
    """Folders that may contain the library: this package, this Python's prefix, the command's folder, the source tree, the system."""
    here = Path(__file__).resolve().parent
    yield here / "lib"
    yield here
    for prefix in (sysconfig.get_path("data"), sys.prefix, here.parents[3] if len(here.parents) > 3 else sys.prefix):
        yield Path(prefix) / "lib"
    command = shutil.which("convshim")
    if command:
        yield Path(command).resolve().parent
        yield Path(command).resolve().parent.parent / "lib"
    yield here.parent.parent / "build"
    for prefix in ("/usr/local/lib", "/usr/lib", "/usr/lib64", f"/usr/lib/{os.uname().machine}-linux-gnu"):
        yield Path(prefix)


def find() -> str:
    for place in places():
        file = place / NAME
        if file.is_file():
            return str(file.resolve())
    raise FileNotFoundError(f"{NAME} was not found; install convshim, or build it in the source tree that this package is in")


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    library.convshim_version.restype = ctypes.c_char_p
    library.convshim_active.restype = ctypes.c_int
    library.convshim_configure.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    library.convshim_configure.restype = ctypes.c_int
    library.convshim_check.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    library.convshim_check.restype = ctypes.c_int
    library.convshim_summary.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
    library.convshim_summary.restype = ctypes.c_size_t
    library.convshim_limit.argtypes = (ctypes.c_int64,)
    library.convshim_limit.restype = ctypes.c_int64
    return library


def loaded() -> ctypes.CDLL | None:
    """The library that this process was started with. One that was opened later would intercept no call, so it does not count."""
    everything = ctypes.CDLL(None)
    return _declare(everything) if hasattr(everything, "convshim_version") else None


def opened() -> ctypes.CDLL:
    """The loaded library, or a copy that is used only to check options."""
    return loaded() or _declare(ctypes.CDLL(find(), mode=os.RTLD_LOCAL | os.RTLD_NOW))
