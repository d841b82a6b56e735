#!/usr/bin/env bats
# make install, uninstall and dist, and the use of an installation, in the test's own folders.
load helper

unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS

# make_in_root ARGUMENT...: the project's make, with this build.
make_in_root()
{
    [ "$BUILD" = "$ROOT/build" ] || cannot_run "installs the build without sanitizers"
    make -C "$ROOT" --no-print-directory -j1 "$@" >make.out 2>make.err || fail "make $*"
}

# complete_bash WORD...: bash's completions of the last word.
complete_bash()
{
    bash --norc -c '. "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && previous=${COMP_WORDS[COMP_CWORD - 1]} &&
        _convshim convshim "${COMP_WORDS[COMP_CWORD]}" "$previous" && printf "%s " "${COMPREPLY[@]}"' \
        "$BUILD/completions/convshim.bash" "$@"
}

# bats test_tags=quick
@test "install, use, uninstall: every file is used from there, and all are removed" {
    make_in_root install DESTDIR="$PWD/root" PREFIX=/opt/tool
    env -i PATH="$PATH" root/opt/tool/bin/convshim run --dry-run --preset card >run.out
    expect_line run.out "^export LD_PRELOAD=$PWD/root/opt/tool/lib/libconvshim\.so$"
    expect_line run.out "^export CONVSHIM_CONFIGFILE=$PWD/root/opt/tool/share/convshim/presets/card\.ini$"
    root/opt/tool/bin/convshim predict --device list >predict.out
    expect_line predict.out '^rtx4090 '
    expect_equal "version" "$(root/opt/tool/bin/convshim --version)" \
        "convshim $(sed -n 's/^#define CS_VERSION "\(.*\)"/\1/p' "$ROOT/src/base/version.h")"
    make_in_root uninstall DESTDIR="$PWD/root" PREFIX=/opt/tool
    find root/opt/tool -mindepth 1 >left
    expect_empty left
}

@test "folders with blanks: every file is installed and removed" {
    local to=(DESTDIR="$PWD/a root" PREFIX="/opt/a tool" LIBDIR="/opt/a tool/li b")
    make_in_root install "${to[@]}"
    "a root/opt/a tool/bin/convshim" predict --device list >devices.out
    expect_line devices.out '^rtx4090 '
    [ -f "a root/opt/a tool/li b/libconvshim.so" ] || fail "no library"
    expect_equal "folders" "$(ls "a root/opt")" "a tool"
    make_in_root uninstall "${to[@]}"
    find "a root/opt/a tool" -mindepth 1 >left
    expect_empty left
}

@test "LIBDIR, BINDIR and a move: the command finds its library" {
    local to=(DESTDIR="$PWD/root" PREFIX=/usr LIBDIR=/usr/lib/of/machine BINDIR=/usr/local/games)
    make_in_root install "${to[@]}"
    root/usr/local/games/convshim run --dry-run >run.out
    expect_line run.out "^export LD_PRELOAD=$PWD/root/usr/lib/of/machine/libconvshim\.so$"
    mv root moved
    moved/usr/local/games/convshim run --dry-run >run.out
    expect_line run.out "^export LD_PRELOAD=$PWD/moved/usr/lib/of/machine/libconvshim\.so$"
    mv moved root
    make_in_root uninstall "${to[@]}"
    find root ! -type d -o -name 'convshim*' >left
    expect_empty left
}

@test "uninstall from /usr/local: the system's own folders stay, no others" {
    mkdir -p root/usr/local/{bin,lib,share/man}
    find root | sort >before
    make_in_root install DESTDIR="$PWD/root" PREFIX=/usr/local
    make_in_root uninstall DESTDIR="$PWD/root" PREFIX=/usr/local
    find root | sort >after
    expect_equal "folders" "$(grep -v /include$ after)" "$(<before)"
}

@test "a program runs on the installed device, without oneDNN, under the installed library" {
    local folder=$PWD/root/opt/lib/convshim/simdev
    make_in_root install DESTDIR="$PWD/root" PREFIX=/opt
    readelf -dW "$folder"/lib*.so.[0-9]* | grep NEEDED >needed
    ! grep -E 'dnnl|gomp' needed || fail "the device needs what is not installed"
    export LD_LIBRARY_PATH=$folder SIMDEV_PLANNING=rule
    root/opt/bin/convshim run --policy fixed --tiles 3 --threshold 0 --summary json:run.json -- \
        "$APPS/conv_random" --count 20 --direction forward --check >random.out
    expect_true "tiled" "$(python3 -c 'import json; print(json.load(open("run.json"))["totals"]["tiled"])') > 0"
}

@test "completion offers the words of the tables" {
    expect_equal "commands" "$(complete_bash convshim pre)" "predict "
    expect_equal "options" "$(complete_bash convshim report --ht)" "--html "
    expect_equal "words of a help text" "$(complete_bash convshim report --format '')" "text json csv "
    expect_equal "words of options.def" "$(complete_bash convshim run --log '')" "off error warn info debug "
    expect_equal "policies" "$(complete_bash convshim run --policy f)" "fit fixed "
    expect_equal "presets" "$(PATH=$BUILD:$PATH complete_bash convshim run --preset th)" "threads "
    expect_equal "devices" "$(PATH=$BUILD:$PATH complete_bash convshim predict --device rtx409)" "rtx4090 "
    touch "a file.json"
    expect_equal "files" "$(complete_bash convshim report a)" "a file.json "
}

@test "dist: sources that build, under the version's name" {
    local name
    make_in_root dist
    name=$(<make.out)
    expect_line make.out "^build/dist/convshim-$("$BUILD/convshim" --version | cut -d ' ' -f 2)\.tar\.gz$"
    tar -tzf "$ROOT/$name" >list
    grep -qx "$(basename "$name" .tar.gz)/Makefile" list || fail "no Makefile in it"
    cp "$ROOT/$name" first.tar.gz
    make_in_root dist
    cmp first.tar.gz "$ROOT/$name"
}

@test "the same sources in two folders: the same bytes" {
    [ "$BUILD" = "$ROOT/build" ] || cannot_run "compares with the build without sanitizers"
    mkdir -p other/build
    (cd "$ROOT" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T -) | tar -x -C other
    cp "$ROOT/build/config.mk" other/build/
    touch -d 'next year' other/build/config.mk
    make -C other --no-print-directory lib >make.out 2>make.err || fail "make in another folder"
    cmp other/build/libconvshim.so "$BUILD/libconvshim.so"
}

@test "make OFFLINE=1: a missing tool is named, and no package manager runs" {
    mkdir bin
    ln -s /usr/bin/* bin/
    rm -f bin/strace bin/sudo bin/apt-get
    printf '#!/bin/sh\ntouch %s/called\n' "$PWD" >bin/apt-get
    chmod +x bin/apt-get
    status=0
    PATH=$PWD/bin OFFLINE=1 "$ROOT/scripts/bootstrap" quick >out 2>err || status=$?
    expect_status 1
    expect_line err 'OFFLINE=1: .* strace'
    [ ! -e called ] || fail "apt-get ran"
}
