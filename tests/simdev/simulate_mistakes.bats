#!/usr/bin/env bats
# `convshim simulate`: mistakes that people make, programs that fail early, and signals.
load ../system/helper
# shellcheck source=tests/support/simulate.bash
. "$ROOT/tests/support/simulate.bash"

# bats test_tags=quick
@test "mistakes in options: the lines of convshim run, before the first run, and the options in force" {
    printf 'treshold = 64MiB\nworkspace = lots\nprice = 0\n' >bad.ini
    CONVSHIM_CONFIGFILE=bad.ini CONVSHIM_THRESHOLD=1MiB CONVSHIM_WORKSPCE=1MiB \
        simulate -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_line simulate.err 'bad\.ini:1: treshold: no such option, ignored; did you mean threshold\?$'
    expect_line simulate.err 'bad\.ini:2: workspace: "lots" is not allowed'
    expect_line simulate.err 'CONVSHIM_WORKSPCE: no such variable'
    expect_line simulate.out '^options     price = 0, threshold = 1MiB'
    simulate -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_equal "options" "$(grep -c '^options ' simulate.out || true)" 0
}

# bats test_tags=quick
@test "a program that fails after its first use of the device: its output, also of the time before" {
    cat >early.py <<'END'
import ctypes, sys
print("width must be even", file=sys.stderr, flush=True)
ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20))
sys.exit(1)
END
    simulate -- python3 early.py
    expect_status 3
    expect_line simulate.err '^width must be even$'
}

# bats test_tags=quick
@test "children that found the GPU and did not use it: the verdict names them" {
    cat >parent.py <<'END'
import ctypes, subprocess, sys
ctypes.CDLL("libcudart.so.13").cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))
if len(sys.argv) == 1:
    [subprocess.run([sys.executable, __file__, "child"]) for _ in range(2)]
END
    simulate --only without -- python3 parent.py
    expect_status 3
    expect_line simulate.out '^without     3 processes found the GPU, and none used it\. Its children may have failed'
}

# bats test_tags=quick
@test "a fixed port: the run that failed next to the other one is made again, alone" {
    cat >port.py <<'END'
import ctypes, socket, sys, time
runtime = ctypes.CDLL("libcudart.so.13")
runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20))
server = socket.socket()
server.bind(("127.0.0.1", int(sys.argv[1])))
server.listen()
time.sleep(2)
END
    simulate -- python3 port.py $((20000 + RANDOM % 10000))
    expect_status 0
    expect_line simulate.err 'the program failed with(out)? convshim, but not with(out)?\. .* it runs again, alone\.$'
}

@test "SIGINT from a terminal: the figures until then, and the end by the signal" {
    cat >server.py <<'END'
import ctypes, time
ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20))
open("/tmp/" + __import__("sys").argv[1], "a").write("x")
try:
    while True: time.sleep(0.1)
except KeyboardInterrupt:
    pass
END
    local mark="convshim-server-$$-$RANDOM" state=0
    # bash starts background programs with SIGINT ignored, unlike a terminal
    LD_LIBRARY_PATH="$SIMDEV_DIR" setsid python3 - "$mark" "$COMMAND" simulate --cudnn "$CUDNN" -- python3 server.py "$mark" >simulate.out 2>simulate.err <<'END' || state=$?
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
simulation = subprocess.Popen(sys.argv[2:], start_new_session=True)
mark = "/tmp/" + sys.argv[1]
while not (os.path.exists(mark) and os.path.getsize(mark) == 2) and simulation.poll() is None: time.sleep(0.1)
os.killpg(simulation.pid, signal.SIGINT)
status = simulation.wait(60)
os.remove(mark)
sys.exit(0 if status == -signal.SIGINT else 1)
END
    expect_equal "ended by SIGINT" "$state" 0
    expect_line simulate.out '^  device peak +1 MiB +1 MiB'
    expect_line simulate.out '^with        Runs without memory pressure\.$'
}

# bats test_tags=quick
@test "a shell script without a cuDNN: the reason, and the command to run" {
    printf '#!/bin/sh\nexit 0\n' >run.sh
    chmod +x run.sh
    local status=0
    LD_LIBRARY_PATH=$SIMDEV_DIR PATH=/bin "$COMMAND" simulate -- ./run.sh >simulate.out 2>simulate.err || status=$?
    expect_line simulate.err '\./run\.sh is run by a shell, so the Python that it starts is not known and no cuDNN was found\. '
}

# bats test_tags=quick
@test "words that cannot be run: the reason, and the command to type" {
    printf '#!/no/such/shell\n' >script
    chmod +x script
    while IFS='|' read -r word said; do
        simulate -- "$word"
        expect_status 3
        expect_line simulate.err "^convshim: $word: $said"
        expect_empty simulate.out
    done <<'END'
--device|a program is expected here\. Options begin with two hyphens
–fits|a program is expected here\. Options begin with two hyphens
python3 app.py|one word with blanks, and no such program\. Without quotes: convshim simulate -- python3 app\.py$
A=1|a variable, not a program\. Set it with env: convshim simulate -- env A=1 COMMAND$
app.py|not executable\. Run it with Python: convshim simulate -- python app\.py$
./script|its interpreter, which its first line names after #!, was not found\.
nothing|not found, or not executable\.
END
}

# bats test_tags=quick
@test "an option after the program: it is passed to the program, with a line unless -- is before the program" {
    simulate true --fits card
    expect_line simulate.err '^convshim: simulate: --fits stands after the program, so it is passed to the program\. '
    simulate -- true --fits card
    expect_equal "lines" "$(grep -c 'stands after' simulate.err || true)" 0
    simulate --preset list
    expect_status 0
    expect_line simulate.out '^card '
}

# bats test_tags=quick
@test "a path that is not UTF-8: valid JSON and a valid page" {
    local folder
    folder=$(printf 'n\xe4')
    mkdir "$folder"
    cp "$APPS/vae_decoder" "$folder/prog"
    simulate --format json --html page.html -- "$folder/prog" "${decoder[@]}"
    expect_status 0
    python3 -c 'import json; assert json.load(open("simulate.out", encoding="utf-8"))["command"][0] == "n\xe4/prog"' || fail "the JSON"
    python3 -c 'open("page.html", encoding="utf-8").read()' || fail "the page"
}

# bats test_tags=quick
@test "--library with a file that is no library of convshim: the file is named" {
    : >empty.so
    simulate --library empty.so -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 3
    expect_line simulate.err '^convshim: --library empty\.so: not an ELF file\. Name libconvshim\.so\.$'
    printf 'int x;' | gcc -shared -o other.so -x c -
    SIMDEV_DIR='' simulate --library other.so -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 3
    expect_line simulate.err 'the simulated GPU is not in the folder of .*/other\.so\. .*: --library FILE$'
}
