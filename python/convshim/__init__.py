"""Lower peak GPU memory of cuDNN convolutions: control of libconvshim.so from Python.

The library must be loaded before the program starts, so start the program by one of

    python -m convshim app.py
    convshim run -- python app.py
    LD_PRELOAD=/path/to/libconvshim.so python app.py

Then the program can use it:

    import convshim

    if convshim.active():
        convshim.configure(workspace="32MiB", lanes=2)    # before the first convolution
        with convshim.limit(8 << 20):                           # for convolutions planned inside
            warm_up(model)
        print(convshim.stats()["totals"])
"""

from __future__ import annotations

import ctypes
import json
import operator
import os
import subprocess
import threading
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, MutableMapping, Sequence, Union

from . import _library

__all__ = ["ConvshimError", "NotActiveError", "active", "configure", "configure_subprocess", "library_path", "limit", "run", "stats",
           "version"]

Option = Union[str, int, float, bool, None]
_ERROR_BYTES = 1024


class ConvshimError(Exception):
    """The library refused a request."""


class NotActiveError(ConvshimError):
    """The library is not loaded in this process, or switched off by CONVSHIM=0."""


def library_path() -> str:
    """The path of libconvshim.so, for LD_PRELOAD. Raises FileNotFoundError if it is not found."""
    return _library.find()


def version() -> str:
    """The version of the loaded library, or of the one that would be loaded."""
    text: bytes = _library.opened().convshim_version()
    return text.decode()


def active() -> bool:
    """True if this process was started with the library and CONVSHIM=0 is not set."""
    library = _library.loaded()
    return library is not None and bool(library.convshim_active())


def _needed() -> ctypes.CDLL:
    library = _library.loaded()
    if library is None:
        raise NotActiveError("this process was started without convshim. Start it with python -m convshim, or convshim run.")
    if not library.convshim_active():
        raise NotActiveError("CONVSHIM=0 switches convshim off")
    return library


def _items(options: Mapping[str, Option]) -> str:
    """Options in the form of CONVSHIM_CONFIG. A dot may be written as two underscores: rule__vae__workspace."""
    words = []
    for name, value in options.items():
        name = name.replace("__", ".")
        text = "off" if value is None or value is False else str(value)
        if ";" in text or "\n" in text or ";" in name or "=" in name:
            raise ValueError(f"{name}: the value contains ';' or a line break, which separate options")
        words.append(f"{name}={text}")
    return ";".join(words)


def _checked(options: Mapping[str, Option]) -> str:
    """The same, after the library has checked every option. Raises ValueError with the allowed values."""
    items = _items(options)
    error = ctypes.create_string_buffer(_ERROR_BYTES)
    if items and _library.opened().convshim_check(os.fsencode(items), error, _ERROR_BYTES) != 0:
        line = error.value.decode(errors="replace")
        place, colon, rest = line.partition(": ")
        raise ValueError(rest if colon and place.startswith("convshim_configure:") else line)
    return items


def configure(**options: Option) -> None:
    """Sets options of this process, with priority over files and variables. Only before its first call of cuDNN.

    Names and values are those of docs/options.md: ``configure(workspace="32MiB", lanes=2)``. A number of bytes may be an int. None
    and False mean ``off``. ``rule.vae.workspace`` is written ``rule__vae__workspace``. Several calls add up. Raises ValueError if an
    option is not allowed (then none is set), and ConvshimError if it is too late.
    """
    library = _needed()
    items = _checked(options)
    if not items:
        return
    error = ctypes.create_string_buffer(_ERROR_BYTES)
    status = library.convshim_configure(os.fsencode(items), error, _ERROR_BYTES)
    if status != 0:
        raise ConvshimError(error.value.decode(errors="replace"))


def stats() -> dict[str, Any]:
    """The current summary of this process, in the form of docs/summary.md. Before the first call of cuDNN it has only zeros."""
    library = _needed()
    size = 1 << 16
    while True:
        text = ctypes.create_string_buffer(size)
        length = library.convshim_summary(text, size)
        if length < size:
            break
        size = length + (1 << 14)
    if length == 0:
        totals = dict.fromkeys(("calls", "tiled", "fallback", "failed", "launches", "extra_launches", "lanes", "required_max",
                                "reported_max", "possible_max", "required_sum", "reported_sum", "possible_sum", "host_ns"), 0)
        return {"schema": "convshim summary", "version": 1, "totals": {**totals, "not_tiled": []}, "sites": [], "order": []}
    summary: dict[str, Any] = json.loads(text.value)
    return summary


class _Limits:
    """The limits that are active, in all threads."""

    def __init__(self) -> None:
        self.active: list[int] = []
        self.outer = 0  # the limit of convshim_limit before the first one
        self.lock = threading.Lock()
        os.register_at_fork(before=self.lock.acquire, after_in_parent=self.lock.release, after_in_child=self.lock.release)

    def enter(self, library: ctypes.CDLL, bytes: int) -> None:
        with self.lock:
            before = library.convshim_limit(min([*self.active, bytes]))
            if not self.active:
                self.outer = before
            self.active.append(bytes)

    def leave(self, library: ctypes.CDLL, bytes: int) -> None:
        with self.lock:
            self.active.remove(bytes)
            library.convshim_limit(min(self.active, default=self.outer))


_limits = _Limits()


@contextmanager
def limit(bytes: int | None) -> Iterator[None]:
    """Limits the scratch memory that one call takes inside the block beyond its reported workspace to ``bytes``.

    Reported workspaces do not depend on it: option ``workspace`` sets those. The limit applies to the whole process, because frameworks
    run convolutions in other threads too. If several limits are active, nested or in other threads, the smallest one applies. None:
    the largest limit, 1 TiB.
    """
    library = _needed()
    wanted = 1 << 40 if bytes is None else operator.index(bytes)
    if not 1 << 10 <= wanted <= 1 << 40:
        raise ValueError(f"{bytes}: a limit is from 1 KiB to 1 TiB")
    _limits.enter(library, wanted)
    try:
        yield
    finally:
        _limits.leave(library, wanted)


def _preloads(path: str, before: str) -> str:
    """LD_PRELOAD with the library before all other files, except runtimes of sanitizers, which must come first."""
    files = [file for file in before.replace(":", " ").split() if file != path]
    runtimes = [file for file in files
                if os.path.basename(file).startswith(("libasan.so", "libtsan.so", "liblsan.so", "libubsan.so", "libclang_rt."))]
    return ":".join(runtimes + [path] + [file for file in files if file not in runtimes])


def configure_subprocess(env: MutableMapping[str, str] | None = None, /, **options: Option) -> MutableMapping[str, str]:
    """Adds the library and these options to an environment, for subprocess or for processes that multiprocessing spawns.

    Changes and returns ``env``. None: a copy of this process's environment. ``configure_subprocess(os.environ)`` applies to all
    processes that this one starts from now on.
    """
    env = dict(os.environ) if env is None else env
    path = library_path()
    if any(sign in path for sign in " :"):
        raise ConvshimError(f"{path}: LD_PRELOAD allows no blank and no colon in a path. Move the file.")
    items = _checked(options)
    env["LD_PRELOAD"] = _preloads(path, env.get("LD_PRELOAD", ""))
    if items:
        given = {item.split("=")[0] for item in items.split(";")}
        kept = [item for item in env.get("CONVSHIM_CONFIG", "").split(";") if item and item.split("=")[0].strip() not in given]
        env["CONVSHIM_CONFIG"] = ";".join(kept + [items])
        for name in given:
            env.pop("CONVSHIM_" + name.upper().replace(".", "_"), None)
    env.setdefault("NVTX_INJECTION64_PATH", path)
    return env


def run(args: Sequence[str | os.PathLike[str]], *, options: Mapping[str, Option] | None = None,
        env: Mapping[str, str] | None = None, **arguments: Any) -> subprocess.CompletedProcess[Any]:
    """Calls subprocess.run for a program with the library: ``run(["python", "app.py"], options={"workspace": "32MiB"}, check=True)``."""
    prepared = configure_subprocess(dict(os.environ if env is None else env), **(options or {}))
    return subprocess.run(args, env=dict(prepared), **arguments)
