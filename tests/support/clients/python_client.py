"""A Python program that runs convolutions of cuDNN through libwork.so: `python_client.py LIBWORK SCENE`. Prints the results."""

import ctypes
import os
import subprocess
import sys
import threading

import convshim

WORK = sys.argv[1]


class Work:
    """One convolution, planned when it is made, destroyed when the scene has ended."""

    made = []

    def __init__(self, legacy=0):
        self.library = ctypes.CDLL(WORK)
        self.work = ctypes.c_void_p()
        assert self.library.work_open(legacy, ctypes.byref(self.work)) == 0
        Work.made.append(self)

    def run(self):
        assert self.library.work_run(self.work) == 0


def totals():
    all_of = convshim.stats()["totals"]
    return {name: all_of[name] for name in ("calls", "tiled", "reported_max")}


def inside():
    """configure before the first call, stats as it goes, too late afterwards."""
    print("active", convshim.active(), totals())
    try:
        convshim.configure(workspce="1MiB")
    except ValueError as error:
        print("refused:", error)
    convshim.configure(workspace="96KiB", lanes=1)
    convshim.configure(max_slowdown=False)
    Work().run()
    summary = convshim.stats()
    print(totals())
    print({name: summary["config"]["options"][name] for name in ("workspace", "lanes", "max_slowdown")})
    print(summary["config"]["source"], summary["versions"]["convshim"] == convshim.version(), len(summary["sites"]))
    try:
        convshim.configure(workspace="1MiB")
    except convshim.ConvshimError as error:
        print("late:", error)


def limits():
    """Inside of a limit plans are small, those made before and behind it are not."""
    before = Work()
    with convshim.limit(None):
        large = Work()
        with convshim.limit(96 << 10):
            small = Work()
    behind = Work()
    for work in (before, large, behind):
        work.run()
    print(totals())
    small.run()
    print(totals())
    with convshim.limit(96 << 10):
        small = Work(legacy=1)
    small.run()
    print(totals())
    for wrong in (0, 1, -5, 1 << 50):
        try:
            with convshim.limit(wrong):
                print("entered")
        except ValueError as error:
            print("refused:", error)
    for wrong in ("1MiB", 1.5):
        try:
            with convshim.limit(wrong):
                print("entered")
        except TypeError as error:
            print("no number:", error)
    try:
        with convshim.limit(96 << 10):
            raise KeyError
    except KeyError:
        pass
    Work().run()
    print(totals())


def overlapping():
    """Limits that are entered and left in an order that is not nested: the least one applies, and none behind the last."""
    def now():
        value = library.convshim_limit(0)
        library.convshim_limit(value)
        return value >> 20

    library = ctypes.CDLL(None)
    library.convshim_limit.argtypes, library.convshim_limit.restype = (ctypes.c_int64,), ctypes.c_int64
    found, first, second = [], convshim.limit(8 << 20), convshim.limit(16 << 20)
    for step in (first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None), lambda: second.__exit__(None, None, None)):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
        found.append(now())
    with convshim.limit(8 << 20), convshim.limit(32 << 20):
        found.append(now())
        if os.fork() == 0:
            with convshim.limit(4 << 20):
                os._exit(now())
        found.append(os.wait()[1] >> 8)
    print(found, now())


def without():
    """Not preloaded: it says so."""
    print("active", convshim.active(), convshim.library_path() != "")
    for ask in (convshim.stats, lambda: convshim.configure(lanes=1), lambda: convshim.limit(1 << 20).__enter__()):
        try:
            ask()
            print("answered")
        except convshim.NotActiveError as error:
            print("not active:", error)
    child = [sys.executable, __file__, WORK, "child"]
    print(convshim.run(child, options={"workspace": "96KiB", "max_slowdown": "off"}, stdout=subprocess.PIPE, text=True, check=True).stdout, end="")
    environment = convshim.configure_subprocess({"LD_PRELOAD": "/no/libasan.so.8 /no/more.so", "CONVSHIM_CONFIG": "workspace=1MiB;lanes=2",
                                                 "CONVSHIM_WORKSPACE": "3MiB"}, workspace="5MiB")
    print(environment["LD_PRELOAD"].replace(convshim.library_path(), "LIBRARY"), environment["CONVSHIM_CONFIG"],
          "CONVSHIM_WORKSPACE" in environment)
    try:
        convshim.configure_subprocess(policy="fastest")
    except ValueError as error:
        print("refused:", error)


def child():
    Work().run()
    print("child", convshim.active(), totals(), sys.argv[3:])


{"inside": inside, "limits": limits, "overlapping": overlapping, "without": without, "child": child}[sys.argv[2]]()
for made in Work.made:
    made.library.work_close(made.work)
