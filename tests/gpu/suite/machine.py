"""The parts of the machine: a GPU, Python packages, libraries, tools."""

import glob
import importlib.util
import os
import platform
import shutil
import subprocess
import sys

_COUNT_GPUS = """
import ctypes, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    sys.exit(f"libcuda.so.1 cannot be loaded ({error})")
count = ctypes.c_int()
status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
if status:
    sys.exit(f"the driver answers error {status}")
if count.value == 0:
    sys.exit("the driver knows no device")
"""

_LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"


def _python(*arguments):
    return subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, timeout=60)


def why_no_card():
    """None if there is a GPU, else why not. Asked in a child: a process that forks later must not start the driver."""
    result = _python(_COUNT_GPUS)
    return None if result.returncode == 0 else (result.stderr.strip().splitlines() or ["no reason given"])[-1]


def why_not_loadable(library):
    """None if a process here can load the library, else the loader's message (for example about a glibc that is too
    old)."""
    if not os.path.exists(library):
        return f"{library} is missing"
    result = _python(_LOAD, library)
    return None if result.returncode == 0 else (result.stderr.strip().splitlines() or ["no reason given"])[-1]


def has_module(name):
    """Whether Python could import it; it is not imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def package_version(name):
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def nvidia_folders(search=None):
    """Folders of the Python packages `nvidia-*` that hold libcudnn, libcudart and nvrtc, each once."""
    if search is None:
        spec = importlib.util.find_spec("nvidia") if has_module("nvidia") else None
        search = list(spec.submodule_search_locations or []) if spec else []
    folders = []
    for root in search:
        for pattern in ("libcudnn.so.*", "libcudart.so.*", "libnvrtc.so.*"):
            for path in sorted(glob.glob(os.path.join(root, "**", pattern), recursive=True)):
                folder = os.path.dirname(path)
                if folder not in folders:
                    folders.append(folder)
    return folders


def header(name):
    """The folder of an installed C++ header, in Python packages or the usual places, or None."""
    places = [os.path.join(path, "include") for path in sys.path if path.endswith("-packages")]
    places += [
        os.path.join(path, "nvidia", "cudnn", "include") for path in sys.path if path.endswith("-packages")
    ]
    places += [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include"), "/usr/include"]
    for folder in places:
        if os.path.exists(os.path.join(folder, name)):
            return folder
    return None


def tool(name):
    found = shutil.which(name)
    if found:
        return found
    path = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", name)
    return path if os.access(path, os.X_OK) else None


def describe():
    """For the report; None if the machine does not report it."""
    packages = (
        "torch",
        "jax",
        "triton",
        "nvidia-cudnn-cu13",
        "nvidia-cudnn-cu12",
        "nvidia-cudnn-frontend",
        "patch-conv",
    )
    return {
        "system": platform.platform(),
        "glibc": platform.libc_ver()[1],
        "python": platform.python_version(),
        "packages": {name: package_version(name) for name in packages},
    }


def library(name):
    """The path of an installed library by the start of its file name (libcudnn.so), or None."""
    folders = nvidia_folders() + [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64")]
    folders += ["/usr/lib/" + platform.machine() + "-linux-gnu", "/usr/lib64"]
    for folder in folders:
        found = sorted(glob.glob(os.path.join(folder, name + "*")))
        if found:
            return found[0]
    return None
