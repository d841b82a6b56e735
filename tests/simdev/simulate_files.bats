#!/usr/bin/env bats
# `convshim simulate`: files that the program writes, file systems that it sees, and folders that remain.
load ../system/helper
# shellcheck source=tests/support/simulate.bash
. "$ROOT/tests/support/simulate.bash"

@test "a checkpoint saved over an old one: the old one stays, and written files are listed" {
    mkdir -p work/data results
    cd work
    echo precious >model.pt
    echo precious >data/last.pt
    echo precious >old.pt
    cat >saves.py <<'END'
import contextlib, ctypes, os, sys
assert ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20)) == 0
open("model.pt", "wb").write(bytes(100))
open("data/last.pt", "ab").write(bytes(100))
with contextlib.suppress(FileNotFoundError): # both runs share a process, and so a layer
    os.remove("old.pt")
open(sys.argv[1], "w").write("a result\n")
END
    local results=${PWD%/work}/results name
    simulate --cuda 13 -- python3 saves.py "$results/picture.png"
    expect_status 0
    ! grep -q 'no private layer is possible' simulate.err || cannot_run "no private layer in a chroot"
    expect_equal "the user's files" "$(cat model.pt data/last.pt old.pt)" "$(printf 'precious\nprecious\nprecious')"
    [ ! -e "$results/picture.png" ] || fail "written where the argument says"
    expect_line simulate.out '^files that the program wrote in a private layer'
    for name in data/last.pt model.pt 'old.pt \(removed\)' "$results/picture.png"; do
        expect_line simulate.out "^  \\* $name\$"
    done
    simulate --cuda 13 --format json -- python3 saves.py picture.png
    python3 -c 'import json; f = json.load(open("simulate.out"))["files"]; assert f["private"] and "picture.png" in f["names"], f' ||
        fail "not in the JSON"
}

# bats test_tags=quick
@test "no layer is possible: a line before the first run, and the files that changed" {
    cat >no_mount.c <<'END'
#include <errno.h>
int unshare(int flags) { return errno = EPERM, -1; }
END
    gcc -w -shared -fPIC -o no_mount.so no_mount.c
    echo precious >model.pt
    cat >saves.py <<'END'
import ctypes
assert ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20)) == 0
open("model.pt", "wb").write(bytes(100))
END
    touch -d '1 hour ago' saves.py model.pt
    LD_PRELOAD=$PWD/no_mount.so simulate --cuda 13 -- python3 saves.py
    expect_status 0
    expect_line simulate.err "^convshim: simulate: the program really writes to $PWD, because no private layer is possible over it \\(Operation not permitted\\)"
    expect_line simulate.out '^files that the program MAY HAVE REPLACED \(they changed while it ran\)$'
    expect_line simulate.out '^  \* model.pt$'
    expect_equal "files that did not change" "$(grep -c 'saves.py$' <(grep '\*' simulate.out))" 0
}

@test "a signal ends simulate and its program, and leaves no folder" {
    local temporary=$PWD/temporary pid signal
    mkdir "$temporary"
    for signal in INT TERM; do
        TMPDIR=$temporary env --default-signal=INT "$COMMAND" simulate --only without --cuda 13 -- sleep 1000 >simulate.out 2>simulate.err &
        pid=$!
        for ((i = 0; i < 600; i++)); do
            compgen -G "$temporary/convshim-simulate-*/without-*/output" >/dev/null && break
            sleep 0.1
        done
        kill -s "$signal" "$pid"
        status=0
        wait "$pid" || status=$?
        expect_equal "status" "$status" $((128 + $(kill -l "$signal")))
        expect_equal "folders" "$(ls "$temporary")" ""
    done
}

@test "a file system mounted below the working folder is seen, and not written" {
    mkdir data
    unshare --mount true 2>/dev/null || cannot_run "no permission to mount"
    unshare --mount sh -c "mount -t tmpfs none data && echo hello >data/old && '$COMMAND' simulate --only without --cuda 13 --keep kept -- \
        sh -c 'cat data/old; echo changed >data/old; echo new >data/new'; ls data; cat data/old" >simulate.out 2>simulate.err
    expect_equal "read" "$(cat kept/without-*/output)" hello
    expect_equal "afterwards" "$(tail -2 simulate.out | paste -sd' ')" "old hello"
    expect_line simulate.out '^  \* .*data/new$'
}

@test "files in folders that no argument names are not written" {
    unshare --mount true 2>/dev/null || cannot_run "no permission to mount"
    [ -d /mnt ] || cannot_run "no /mnt"
    unshare --mount sh -c "mount -t tmpfs none /mnt && echo precious >/mnt/model.pt && '$COMMAND' simulate --only without --cuda 13 -- \
        python3 -c 'open(\"/mnt\" + \"/model.pt\", \"w\").write(\"zeros\")'; cat /mnt/model.pt" >simulate.out 2>simulate.err
    ! grep -q 'no private layer is possible' simulate.err || cannot_run "no private layer in a chroot"
    expect_equal "afterwards" "$(tail -1 simulate.out)" precious
    expect_line simulate.out '^  \* /mnt/model.pt$'
}

@test "a home far from the root is not written, its folders can be renamed, and a name is one line" {
    unshare --mount true 2>/dev/null || cannot_run "no permission to mount"
    mkdir -p alice/run1 work
    echo precious >alice/model.pt
    cd work
    HOME=$PWD/../alice simulate --only without --cuda 13 -- python3 -c 'import os
os.chdir(os.environ["HOME"])
open("model.pt", "w").write("zeros")
os.rename("run1", "run2")
open("run2/a\nb", "w").close()'
    ! grep -q 'no private layer is possible' simulate.err || cannot_run "no private layer in a chroot"
    expect_equal "afterwards" "$(cat ../alice/model.pt) $(cd ../alice && echo *)" "precious model.pt run1"
    expect_line simulate.out '^  \* .*/alice/run2/a\?b$'
}

@test "without capabilities, a program removes a folder of the user behind the layer, and nothing remains" {
    local ordinary=(unshare --user --map-user=1000 --map-group=1000)
    "${ordinary[@]}" true 2>/dev/null || cannot_run "no user namespaces"
    mkdir -p data/old tmp
    echo precious >data/old/model.pt
    TMPDIR=$PWD/tmp "${ordinary[@]}" "$COMMAND" simulate --only without --cuda 13 --keep kept -- \
        python3 -c 'import os, shutil; os.makedirs("new/sub"); os.chmod("new", 0o500); shutil.rmtree("data"); print("removed")' >simulate.out 2>simulate.err || :
    ! grep -q "really writes to $PWD" simulate.err || cannot_run "no private layer in a chroot"
    expect_equal "the program" "$(cat kept/without-*/output)" removed
    expect_equal "afterwards" "$(cat data/old/model.pt)" precious
    expect_equal "remaining files" "$(ls tmp)" ""
}

@test "in the root folder, a line names it, and the home is not written" {
    unshare --mount true 2>/dev/null || cannot_run "no permission to mount"
    mkdir alice
    echo precious >alice/model.pt
    (
        cd /
        HOME=$OLDPWD/alice "$COMMAND" simulate --only without --cuda 13 -- \
            python3 -c 'import os; open(os.environ["HOME"] + "/model.pt", "w").write("zeros")' || :
    ) >simulate.out 2>simulate.err
    ! grep -q 'those in its arguments' simulate.err || cannot_run "no private layer in a chroot"
    expect_equal "afterwards" "$(cat alice/model.pt)" precious
    expect_line simulate.err '^convshim: simulate: the program really writes to /, because no private layer is possible over it'
}
