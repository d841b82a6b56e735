#!/usr/bin/env bats
# The wheel and the Debian package: built, installed where nothing else is, used, removed.
load helper

unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS

# make_package ARGUMENT...: the project's make. $made is the file that it reports.
make_package()
{
    [ "$BUILD" = "$ROOT/build" ] || cannot_run "packages are those of the build without sanitizers"
    make -C "$ROOT" --no-print-directory "$@" >make.out 2>make.err || fail "make $*"
    made=$ROOT/$(tail -n 1 make.out)
    [ -r "$made" ] || fail "make $* made nothing"
}

# environment FOLDER: a separate Python environment with pip.
environment()
{
    python3 -m venv "$1" 2>venv.err || cannot_run "this Python makes no environments (python3-venv is missing)"
}

# An application as a framework: it loads a library that uses cuDNN.
write_app()
{
    cat >app.py <<'END'
import ctypes, sys
work = ctypes.CDLL(sys.argv[1])
state = ctypes.c_void_p()
assert work.work_open(0, ctypes.byref(state)) == 0
assert work.work_run(state) == 0
END
}

# elf_of FOLDER: the binaries in it.
elf_of()
{
    find "$1" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print
}

# bats test_tags=quick
@test "make-wheel derives the platform from the binaries, and its record has every file" {
    mkdir -p tree/bin tree/lib
    cp /usr/lib/*-linux-gnu/libinih.so.1 tree/lib/ 2>/dev/null || cp "$(command -v true)" tree/lib/
    printf '#!/bin/sh\necho hello\n' >tree/bin/hello
    chmod 755 tree/bin/hello
    "$ROOT/packaging/make-wheel" --version 9.9 --arch "$(uname -m)" --out . --home https://example.org/convshim \
        --licence LICENSE="$ROOT/LICENSE" tree >wheel.out
    python3 - ./*.whl <<'END'
import base64, hashlib, re, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
rows = dict(line.split(",", 1) for line in archive.read("convshim-9.9.dist-info/RECORD").decode().split())
assert set(rows) == set(archive.namelist()), set(rows) ^ set(archive.namelist())
for name, row in rows.items():
    if not name.endswith("RECORD"):
        digest, size = row.split(",")
        data = archive.read(name)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert int(size) == len(data)
assert "\nHome-page: https://example.org/convshim\n" in archive.read("convshim-9.9.dist-info/METADATA").decode()
assert archive.getinfo("convshim/bin/hello").external_attr >> 16 & 0o111
assert re.search(r"-py3-none-manylinux_2_(28|34)_\w+\.whl$", sys.argv[1])
END
}

@test "pip install, convshim run -- python app.py, predict, pip uninstall: all files are removed" {
    make_package wheel
    environment venv
    find venv -name __pycache__ -prune -o -print | sort >before
    venv/bin/pip --disable-pip-version-check -q install --no-index "$made" >pip.out 2>&1 || fail "pip install"
    write_app
    SIMDEV_PLANNING=rule LD_LIBRARY_PATH=$BUILD/simdev venv/bin/convshim run --policy fixed --tiles 3 --threshold 0 --summary json:run.json -- \
        venv/bin/python app.py "$CLIENTS/libwork.so"
    expect_equal "calls" "$(python3 -c 'import json; print(json.load(open("run.json"))["totals"]["calls"])')" 1
    expect_equal "tiled" "$(python3 -c 'import json; print(json.load(open("run.json"))["totals"]["tiled"])')" 1
    (cd / && "$BATS_TEST_TMPDIR/venv/bin/convshim" predict --device list) >predict.out
    expect_line predict.out '^t4 '
    SIMDEV_PLANNING=rule LD_LIBRARY_PATH=$(echo "$PWD"/venv/lib/python*/site-packages/convshim/lib/convshim/simdev) venv/bin/convshim run -- venv/bin/python app.py "$CLIENTS/libwork.so"
    venv/bin/pip --disable-pip-version-check -q uninstall -y convshim
    find venv -name __pycache__ -prune -o -print | sort >after
    grep -vxFf before after >left || true
    expect_empty left
}

@test "the wheel's binaries need glibc 2.28 at most and libc's libraries alone; two builds are equal" {
    make_package wheel
    cp "$made" first.whl
    python3 -m zipfile -e "$made" unpacked
    elf_of unpacked >binaries
    expect_true "binaries" "$(wc -l <binaries) >= 8"
    while read -r file; do
        readelf -VW "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -V | tail -n 1 | sed "s|$| $file|" >>newest
        readelf -dW "$file" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p' | grep -vE '^(lib(c|m|dl|pthread)\.so\.[0-9]|ld-linux.*|libcudart\.so\.1[23])$' |
            sed "s|$| $file|" >>foreign || true
    done <binaries
    [[ $made == *manylinux_2_28_* ]] || fail "$made"
    { sort -V newest | tail -n 1; echo 'GLIBC_2.28 limit'; } | sort -V | tail -n 1 | grep -q limit || fail "$(sort -V newest | tail -n 1)"
    expect_empty foreign
    rm "$BUILD/portable/convshim" "$BUILD/portable/libconvshim.so" # not a source: other suites use the build
    make_package wheel
    cmp first.whl "$made"
}

@test "the wheel for aarch64 has binaries for it, and they start" {
    command -v aarch64-linux-gnu-gcc >/dev/null || cannot_run "no compiler for aarch64"
    make_package ARCH=aarch64 wheel
    [[ $made == *manylinux_2_28_aarch64.whl ]] || fail "$made"
    python3 -m zipfile -e "$made" unpacked
    elf_of unpacked | xargs readelf -hW | grep Machine: | sort -u >machines
    expect_equal "machines" "$(tr -s ' ' <machines)" " Machine: AArch64"
    command -v qemu-aarch64 >/dev/null || cannot_run "no qemu-aarch64"
    chmod 755 unpacked/convshim/bin/convshim
    expect_equal "version" "$(qemu-aarch64 -L /usr/aarch64-linux-gnu unpacked/convshim/bin/convshim --version)" "$("$BUILD/convshim" --version)"
    # dlsym finds our entries there as it does on this machine, and passes on look-ups in other libraries.
    for compiler in gcc aarch64-linux-gnu-gcc; do
        mkdir "$compiler"
        "$compiler" -D_GNU_SOURCE -O2 -pthread -o "$compiler/loader" "$ROOT/tests/support/clients/loader.c" -ldl
        "$compiler" -std=c17 -D_GNU_SOURCE -fPIC -shared -I"$ROOT/src" -isystem "$(sed -n 's/^CUDNN_INC := //p' "$ROOT/build/config.mk")" \
            -isystem "$(sed -n 's/^CUDA_INC := //p' "$ROOT/build/config.mk")" -Wl,-soname,libcudnn.so.9 \
            -Wl,--version-script="$ROOT/src/simdev/cudnn/cudnn.map" -o "$compiler/libcudnn.so.9" "$ROOT"/tests/bench/null_{cudnn,rest}.c
    done
    for library in libcudnn.so.9 libm.so.6; do
        LD_PRELOAD=$BUILD/libconvshim.so LD_LIBRARY_PATH=$PWD/gcc gcc/loader names "$library" >here
        qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_PRELOAD="$(find "$PWD/unpacked" -name libconvshim.so)" \
            -E LD_LIBRARY_PATH="$PWD/aarch64-linux-gnu-gcc" aarch64-linux-gnu-gcc/loader names "$library" >there
        expect_equal "entries of $library" "$(grep -o '^.*: libconvshim' there)" "$(grep -o '^.*: libconvshim' here)"
    done
}

@test "the Debian package: installed by dpkg into an empty root, used, purged; lintian reports no fault" {
    [ "$(id -u)" = 0 ] || cannot_run "dpkg installs as root only"
    make_package deb
    expect_equal "maintainer" "$(dpkg-deb -f "$made" Maintainer)" "convshim contributors <convshim@contributors.invalid>"
    mkdir -p root/var/lib/dpkg/{info,updates,triggers}
    touch root/var/lib/dpkg/status
    local to=(dpkg --root="$PWD/root" --log=/dev/null --force-depends --force-not-root)
    "${to[@]}" --install "$made" >dpkg.out 2>&1 || fail "dpkg --install"
    root/usr/bin/convshim run --dry-run --preset card >run.out
    expect_line run.out "^export LD_PRELOAD=$PWD/root/usr/lib/.*/libconvshim\.so$"
    (cd root && md5sum --quiet -c var/lib/dpkg/info/convshim.md5sums)
    "${to[@]}" --purge convshim >>dpkg.out 2>&1 || fail "dpkg --purge"
    find root ! -path 'root/var/*' ! -type d >left
    find root -name 'convshim*' >>left
    expect_empty left
    command -v lintian >/dev/null || cannot_run "no lintian"
    lintian --no-cfg --allow-root --fail-on error,warning "$made" >lintian.out 2>&1 || fail "lintian"
    expect_empty lintian.out
}

@test "make deb MAINTAINER: the package's maintainer; an invalid address is refused" {
    make_package deb "MAINTAINER=A (Full) Name <name@example.org>"
    expect_equal "maintainer" "$(dpkg-deb -f "$made" Maintainer)" "A (Full) Name <name@example.org>"
    mkdir tree
    dpkg-deb -x "$made" tree
    expect_equal "changelog" "$(zcat tree/usr/share/doc/convshim/changelog.gz | grep -c '^ -- A (Full) Name <name@example.org>  ')" 1
    ! make -C "$ROOT" --no-print-directory deb MAINTAINER=nobody >refused.out 2>&1 || fail "an address without one"
    expect_line refused.out "^make deb: MAINTAINER is not NAME <ADDRESS>: nobody\$"
    make_package deb
}
