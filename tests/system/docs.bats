#!/usr/bin/env bats
# shellcheck disable=SC2016 # text of pages
# Documentation: its commands are run and their output is compared (tests/support/run_docs.py), and its links have
# targets.
load helper

export PYTHONDONTWRITEBYTECODE=1

# run_docs FILE...: paths in the source tree.
run_docs()
{
    [ -z "$SAN_RT" ] || cannot_run "runs programs without a sanitizer"
    command -v python3 >/dev/null || cannot_run "no python3"
    grep -q '^CUDNN_LIB := .' "$ROOT/build/config.mk" || cannot_run "no cuDNN that could be asked"
    (cd "$ROOT" && env -u SIMDEV_PLANNING tests/support/run_docs.py --build "$BUILD" "$@") >docs.out 2>&1 || fail "$(grep -A12 '^not ok' docs.out)"
    expect_true "blocks" "$(grep -c '^ok' docs.out) > 0"
}

# bats test_tags=quick
@test "recipes: every line is one that a shell and convshim understand" {
    run_docs docs/recipes.md docs/frameworks.md
}

@test "examples of the other pages: output equals the page" {
    local pages
    cd "$ROOT"
    mapfile -t pages < <(printf '%s\n' README.md docs/*.md docs/*/*.md | grep -vE '/recipes|docs/frameworks.md')
    cd "$BATS_TEST_TMPDIR"
    run_docs "${pages[@]}"
}

@test "picture of how-it-works.md: as make pictures draws it" {
    [ -z "$SAN_RT" ] || cannot_run "runs programs without a sanitizer"
    grep -q '^CUDNN_LIB := .' "$ROOT/build/config.mk" || cannot_run "no cuDNN that could be asked"
    env -u SIMDEV_PLANNING "$ROOT/scripts/pictures" --build "$BUILD" --out .
    cmp how-it-works.svg "$ROOT/docs/how-it-works.svg"
}

@test "a wrong output, an unknown option and a broken line are noticed" {
    [ -z "$SAN_RT" ] || cannot_run "runs programs without a sanitizer"
    local page
    printf '```console\n$ convshim --version\nconvshim 9.9\n```\n' >wrong.md
    printf '```sh\nconvshim run --no-such-option 1 -- python app.py\n```\n' >unknown.md
    printf '```sh\nconvshim run -- "python\n```\n' >broken.md
    printf '```sh\nconvshim simulate --no-such-option -- python app.py\n```\n' >other.md
    printf '```sh\nmake no-such-target\n```\n' >target.md
    printf '```ini\nworkspce = 64MiB\n```\n' >ini.md
    printf '```python\nimport convshim\nconvshim.no_such_function()\n```\n' >python.md
    printf '```text\nunmarked\n```\n' >unmarked.md
    printf 'Text:\n\n    convshim run -- python app.py\n' >indented.md
    printf '<!-- printed by: convshim --version -->\n```text\nconvshim 9.9\n```\n' >printed.md
    printf 'nothing is shown here\n' >empty.md
    for page in wrong unknown broken other target ini python unmarked indented printed empty; do
        ! "$ROOT/tests/support/run_docs.py" --build "$BUILD" "$page.md" >"$page.out" 2>&1 || fail "$page.md was accepted"
    done
    "$ROOT/tests/support/run_docs.py" --build "$BUILD" --update wrong.md >wrong.out || true
    "$ROOT/tests/support/run_docs.py" --build "$BUILD" wrong.md >wrong.out || fail "--update has not written the output"
    printf '<!-- not run: a reason -->\n```text\nanything\n```\n\n* an item\n\n    of a list\n' >marked.md
    "$ROOT/tests/support/run_docs.py" --build "$BUILD" marked.md >marked.out || fail "what is marked was run"
}

# bats test_tags=quick
@test "the example of the C functions: with the library, with a wrong option, and without the library" {
    gcc -std=c17 -Wall -Wextra -Werror -I "$ROOT/include" -o control "$ROOT/docs/examples/control.c" -ldl
    LD_PRELOAD=$PRELOAD ./control workspace=64MiB >with.out 2>with.err || fail "status $?"
    expect_equal "output" "$(<with.out)" "$("$BUILD/convshim" --version)"$'\n'"no convolution yet"
    expect_empty with.err
    ! LD_PRELOAD=$PRELOAD ./control workspce=64MiB >wrong.out 2>wrong.err || fail "a wrong option was accepted"
    expect_line wrong.err 'workspce: .* workspace\?$'
    expect_equal "without" "$(./control)" "convshim is not preloaded"
}

@test "links between pages lead to files" {
    cd "$ROOT"
    python3 - >"$BATS_TEST_TMPDIR/dead" <<'END'
import os, re, subprocess
for page in subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True).stdout.split():
    with open(page, encoding="utf-8") as file:
        for link in re.findall(r"\]\(([^)#: ]+)(?:#[^)]*)?\)", file.read()):
            if not os.path.exists(os.path.join(os.path.dirname(page), link)):
                print(f"{page}: {link}")
END
    cd "$BATS_TEST_TMPDIR"
    expect_empty dead
}

@test "the version is one: command, citation, changelog, README" {
    local version
    version=$("$BUILD/convshim" --version | cut -d ' ' -f 2)
    expect_line "$ROOT/CITATION.cff" "^version: ${version//./\\.}$"
    grep -qE "^## \[(Unreleased|${version//./\\.})\].*${version//./\\.}" "$ROOT/CHANGELOG.md" || fail "CHANGELOG.md has not $version"
    grep -q "Status: ${version//./\\.}" "$ROOT/README.md" || fail "README.md has not $version"
}
