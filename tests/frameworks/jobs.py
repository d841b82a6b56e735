"""Jobs from standard input, one JSON object a line, each in a forked child; the child's result is printed as a line of JSON.

The packages are loaded once, by the parent; a child gets its environment (`env`) before it touches the device,
so that each job has its own device.
"""
import json
import os
import sys
import traceback


def child(run, job, describe, trouble):
    os.environ.update(job.get("env", {}))
    try:
        if trouble:
            raise trouble
        return run(job)
    except Exception as error:  # whatever a framework throws is the row's result
        traceback.print_exc()
        return {"ran": False, "error": describe(error)}


def serve(run, describe, load=lambda job: None):
    """`run(job)` in a child; `describe(error)` returns the text of an exception; `load(job)` runs before, in the
    parent. Packages may print to standard output, so their output goes to standard error, and results alone to
    standard output."""
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        trouble = None
        try:
            load(job)
        except ImportError as error:
            trouble = error
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            os.write(write, json.dumps(child(run, job, describe, trouble)).encode())
            os.close(write)
            sys.exit(0)  # not _exit: the device and the library write their reports now
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read()
        _, status = os.waitpid(pid, 0)
        result = json.loads(text) if text else {"ran": False, "error": f"ended with wait status {status}"}
        print(json.dumps(result), file=results, flush=True)
