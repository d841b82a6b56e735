#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031 # an inner shell expands these; each test is a separate process
# convshim doctor: each check with and without a finding. Frameworks are folders made here: packages'
# metadata, and small libraries that load cuDNN in the way of the real ones.
load helper

COMMAND=$BUILD/convshim
SITE=

# site: an empty place for packages, and with it nothing that this machine has.
site()
{
    command -v python3 >/dev/null || cannot_run "no python3"
    SITE=$BATS_TEST_TMPDIR/site
    mkdir -p "$SITE" bin
    PYTHON=$(python3 -c 'import sys; print(sys.executable)')
    printf '#!/bin/sh\nexec %s -S "$@"\n' "$PYTHON" >bin/python3
    chmod +x bin/python3
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH PYTHONPATH=$SITE
}

# package NAME VERSION: its metadata, as pip leaves them.
package()
{
    local folder=$SITE/${1//-/_}-$2.dist-info
    mkdir -p "$folder"
    printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "$1" "$2" >"$folder/METADATA"
}

# object FILE [FLAG...]: a shared object made of C that comes in.
object()
{
    local file=$1
    shift
    mkdir -p "${file%/*}"
    gcc -shared -fPIC -o "$file" -x c - -x none "$@"
}

# cudnn FOLDER VERSION: a libcudnn as in NVIDIA's package, with the few functions that these programs need.
cudnn()
{
    object "$1/lib/libcudnn.so.${2%%.*}" -Wl,-soname,"libcudnn.so.${2%%.*}" <<<'int cudnnBackendExecute(void) { return 0; }
        int cudnnCreate(void) { return 0; } int cudnnConvolutionForward(void) { return 0; }'
    mkdir -p "$1/include"
    local major minor patch
    IFS=. read -r major minor patch <<<"$2"
    printf '#define CUDNN_MAJOR %s\n#define CUDNN_MINOR %s\n#define CUDNN_PATCHLEVEL %s\n' \
        "$major" "$minor" "${patch:-0}" >"$1/include/cudnn_version.h"
}

# hide NAME...: files in ./hidden at which the loader's search for these names ends without a result.
hide()
{
    mkdir -p hidden
    (cd hidden && touch "$@")
}

# torch VERSION CUDNN-VERSION: PyTorch as its wheels have it.
torch()
{
    cudnn "$SITE/nvidia/cudnn" "$2"
    package torch "$1"
    mkdir -p "$SITE/torch"
    echo 'raise SystemExit("torch was imported")' >"$SITE/torch/__init__.py"
    object "$SITE/torch/lib/libtorch_cuda.so" -Wl,--disable-new-dtags "-Wl,-rpath,\$ORIGIN/../../nvidia/cudnn/lib" \
        -L"$SITE/nvidia/cudnn/lib" "-l:libcudnn.so.${2%%.*}" \
        <<<'extern int cudnnBackendExecute(void); int f(void) { return cudnnBackendExecute(); }'
}

# doctor STATUS ARGUMENT...: doctor.out, doctor.err, and as CSV doctor.csv.
doctor()
{
    command_of "$1" doctor "${@:2}"
}

# expect_finding SEVERITY ID TEXT: one line of that kind, and with advice unless it is fine.
expect_finding()
{
    expect_line doctor.out "^$1 +$2 +$3"
    [ "$1" = ok ] || grep -A1 -E "^$1 +$2 +$3" doctor.out | grep -qE '^ +-> .+' || fail "no advice"
}

expect_no_finding()
{
    ! grep -E "^$1 +$2 " doctor.out || fail "a finding too many"
}

@test "a command started through the loader examines the files that it finds" {
    local loader
    loader=$(readelf -p .interp "$COMMAND" | sed -n 's|.* \(/.*\)|\1|p')
    status=0
    LD_PRELOAD=$SAN_RT "$loader" "$COMMAND" doctor >loader.out 2>loader.err || status=$?
    [ "$status" -le 2 ]
    expect_line loader.out ' LD_PRELOAD: '
}

# bats test_tags=quick
@test "the library: the loader can load it, or the loader's own message" {
    doctor 0
    expect_finding ok library "$LIBRARY: found, and glibc 2\.[0-9]+ can load it"
    object ./libgone.so <<<'int gone(void) { return 0; }'
    object ./libconvshim.so -Wl,--no-as-needed -Wl,-rpath,/nowhere "$BATS_TEST_TMPDIR/libgone.so" \
        <<<'void dlsym(void) {} void cudnnCreate(void) {} extern int gone(void); int f(void) { return gone(); }'
    rm libgone.so
    doctor 1 --library libconvshim.so
    expect_finding fatal library '.*: glibc .* cannot load it: .*libgone\.so'
}

# bats test_tags=quick
@test "options of the program that a command runs, also through env and nice" {
    printf 'workspace = 2MiB\n' >"$XDG_CONFIG_HOME/convshim/main.py.ini"
    printf 'workspace = 3MiB\n' >"$XDG_CONFIG_HOME/convshim/env.ini"
    : >main.py
    doctor 0 -- python3 -u main.py
    expect_finding ok config "options: from $XDG_CONFIG_HOME/convshim/main\.py\.ini"
    doctor 0 -- env A=1 nice python3 ./main.py
    expect_finding ok config "options: from $XDG_CONFIG_HOME/convshim/main\.py\.ini"
}

# bats test_tags=quick
@test "a shell that starts other programs: the python3 in PATH is searched, and the advice names better commands" {
    site
    torch 2.10.0 9.15.1
    hide libcuda.so.1
    echo 'exec python3 app.py' >start.sh
    doctor 0 -- nice bash start.sh --listen
    expect_finding note python 'Python: .*\. It is the first in PATH, and a script may start another'
    expect_line doctor.out '-> If it starts a Python program, check that: convshim doctor -- venv/bin/python main\.py\. .*status PID\.'
    expect_finding ok framework 'PyTorch 2\.10\.0: libtorch_cuda\.so links cuDNN'
    doctor 1 missing app.py
    expect_equal "verdict" "$(tail -n 1 doctor.out)" \
        "This will not work: missing: not found, not executable, or its interpreter is missing."
}

@test "a part of another cuDNN that the loader finds first is named, a part of the same cuDNN is not" {
    site
    torch 2.15.0 9.26.0
    local own=$SITE/nvidia/cudnn/lib
    object "$own/libcudnn_graph.so.9" '-Wl,-rpath,$ORIGIN' <<<'int graph(void) { return 0; }'
    object "$own/libcudnn_cnn.so.9" <<<'int cnn(void) { return 0; }'
    object "$own/libcudnn.so.9" -Wl,-soname,libcudnn.so.9 -Wl,--disable-new-dtags '-Wl,-rpath,$ORIGIN' \
        <<<'int cudnnBackendExecute(void) { return 0; }'
    object "$own/libcudnn_ops.so.9" <<<'int ops(void) { return 0; }'
    cp -r "$own" same
    LD_LIBRARY_PATH=$PWD/same doctor 0
    expect_no_finding warning framework
    object other/libcudnn_ops.so.9 <<<'int more[100000] = {1};'
    object other/libcudnn_cnn.so.9 <<<'int more[100000] = {1};' # found by the RPATH of libcudnn.so.9
    LD_LIBRARY_PATH=$PWD/other doctor 0
    expect_finding warning framework "PyTorch 2\\.15\\.0: two cuDNNs are mixed: the loader takes $PWD/other/libcudnn_ops\\.so\\.9 instead of the file in $own"
}

@test "a Python without frameworks; the Python of the command, of a script" {
    site
    package something 1.0
    doctor 0
    expect_finding ok python 'Python: 3\.[0-9.]+ in .*/python3'
    expect_finding note framework 'frameworks: no framework was found'
    torch 2.10.0 9.15.1
    printf '#!/usr/bin/env python3\nraise SystemExit("the script was run")\n' >script
    chmod +x script
    touch app.py
    PATH=/usr/bin:/bin doctor 0 "$BATS_TEST_TMPDIR/bin/python3" app.py
    expect_finding ok framework 'PyTorch 2\.10\.0: libtorch_cuda\.so links cuDNN'
    doctor 0 ./script --workspace
    expect_finding ok framework 'PyTorch 2\.10\.0: libtorch_cuda\.so links cuDNN'
    # Under another name, as links to interpreters have.
    ln -s bin/python3 interpreter
    doctor 0 ./interpreter app.py
    expect_finding ok framework 'PyTorch 2\.10\.0: libtorch_cuda\.so links cuDNN'
    expect_empty doctor.err
    ! grep -qE 'was (run|imported)' doctor.out || fail "it ran what it should only look at"
}

@test "ONNX Runtime's wheel names no folder: NVIDIA's package is found only by programs that load it" {
    site
    cudnn "$SITE/nvidia/cudnn" 9.28.0
    package nvidia-cudnn-cu13 9.28.0.42
    package onnxruntime_gpu 1.31.1
    local lookup='#include <dlfcn.h>
        void *f(void *cudnn) { return dlsym(cudnn, "cudnnBackendExecute"); }'
    object "$SITE/onnxruntime/capi/libonnxruntime_providers_cuda.so" <<<"$lookup"
    : >"$SITE/onnxruntime/__init__.py"
    hide libcudnn.so.9 libcudnn.so.8
    LD_LIBRARY_PATH=$PWD/hidden doctor 0
    expect_finding note framework "ONNX Runtime 1\\.31\\.1: .*\\. The loader finds no libcudnn for it, but a program that calls onnxruntime\\.preload_dlls\\(\\) or imports PyTorch loads cuDNN 9\\.28\\.0 in $SITE/nvidia/"
    # With LD_LIBRARY_PATH the loader finds one.
    LD_LIBRARY_PATH=$SITE/nvidia/cudnn/lib doctor 0
    expect_finding ok framework "ONNX Runtime 1\\.31\\.1: .* \\(intercepted with dlsym\\): cuDNN 9\\.28\\.0 in $SITE/nvidia/"
    # JAX loads it by itself.
    package jax-cuda13-pjrt 0.12.0
    object "$SITE/jax_plugins/xla_cuda13/xla_cuda_plugin.so" <<<"$lookup"
    LD_LIBRARY_PATH=$PWD/hidden doctor 0
    expect_finding ok framework "JAX 0\\.12\\.0: .* \\(intercepted with dlsym\\): cuDNN 9\\.28\\.0 in $SITE/nvidia/"
}

@test "cuDNN linked in: exported, or hidden; a stand-in that looks the real one up does not count" {
    site
    package torch 2.10.0
    package tensorflow 2.21.0
    mkdir -p "$SITE"/{torch,tensorflow}
    : | tee "$SITE"/{torch,tensorflow}/__init__.py
    object "$SITE/torch/lib/libtorch_cuda.so" <<<'int cudnnConvolutionForward(void) { return 1; }
        int cudnnGetVersion(void) { return 1; }'
    object "$SITE/tensorflow/libtensorflow_framework.so.2" -Wl,-soname,libtensorflow_framework.so.2 \
        "-Wl,-rpath,\$ORIGIN/../nvidia/cudnn/lib" <<<'#include <dlfcn.h>
        void *f(void *cudnn) { return dlsym(cudnn, "cudnnConvolutionForward"); }
        int cudnnConvolutionForward(void) { return 1; } int cudnnGetVersion(void) { return 1; }'
    # Its own folders lead to another cuDNN, or to none as in the wheel: it gets the one that the stand-in finds.
    object "$SITE/tensorflow/libtensorflow_cc.so.2" "$SITE/tensorflow/libtensorflow_framework.so.2" \
        "-Wl,-rpath,\$ORIGIN:\$ORIGIN/../other/lib" \
        <<<'extern int cudnnConvolutionForward(void); int f(void) { return cudnnConvolutionForward(); }'
    cudnn "$SITE/nvidia/cudnn" 9.15.1
    cudnn "$SITE/other" 9.1.0
    doctor 1
    expect_finding ok framework "TensorFlow 2\\.21\\.0: libtensorflow_cc\\.so\\.2 links cuDNN .*: cuDNN 9\\.15\\.1 in $SITE"
    expect_finding fatal framework "PyTorch 2\\.10\\.0: $SITE.*/libtorch_cuda\\.so .*statically"
    expect_finding ok framework 'TensorFlow 2\.21\.0: libtensorflow_framework\.so\.2 looks up cuDNN'
    expect_equal "linked in" "$(grep -c '^fatal *framework' doctor.out)" 1
    object "$SITE/torch/lib/libtorch_cuda.so" <<<'const char name[] = "N5cudnn7backend10DescriptorE";'
    doctor 1
    expect_finding fatal framework 'PyTorch 2\.10\.0: .*/libtorch_cuda\.so .*statically'
}

@test "a program: libraries that it and its libraries link" {
    LD_LIBRARY_PATH=$BUILD/simdev doctor 0 "$APPS/vae_decoder" --help
    expect_finding ok framework "vae_decoder: vae_decoder links cuDNN \\(intercepted with LD_PRELOAD\\): cuDNN 9.* in $BUILD/simdev/libcudnn\\.so\\.9"
    object lib/libuser.so -L"$BUILD/simdev" -l:libcudnn.so.9 -Wl,-rpath-link,"$BUILD/simdev" \
        <<<'extern int cudnnBackendExecute(void); int user(void) { return cudnnBackendExecute(); }'
    printf 'int user(void); int main(void) { return user(); }' >main.c
    gcc -o program main.c lib/libuser.so -Wl,-rpath,"$BATS_TEST_TMPDIR/lib" -Wl,-rpath-link,"$BUILD/simdev"
    LD_LIBRARY_PATH=$BUILD/simdev doctor 0 ./program
    expect_finding ok framework 'program: libuser\.so links cuDNN'
    doctor 0 -- env true
    expect_finding note framework 'true: none of its libraries uses cuDNN'
}

@test "the command: a program with its own privileges" {
    printf 'int main(void) { return 0; }' >main.c
    gcc -o plain_program main.c
    cp plain_program set_user && chmod 4755 set_user
    chmod 755 . "$BATS_TEST_TMPDIR"
    [ "$(id -u)" = 0 ] || cannot_run "only root can give a program to another user"
    export HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent
    setpriv --reuid 65534 --clear-groups test -x "$COMMAND" || cannot_run "another user cannot reach the build"
    status=0
    setpriv --reuid 65534 --clear-groups "$COMMAND" doctor ./set_user >doctor.out 2>doctor.err || status=$?
    expect_status 1
    expect_finding fatal program '\./set_user: \./set_user: has setuid, setgid or capabilities'
    status=0
    setpriv --reuid 65534 --clear-groups "$COMMAND" doctor ./plain_program >doctor.out 2>doctor.err || status=$?
    expect_status 0
    expect_finding ok program '\./plain_program: runs \./plain_program'
}
