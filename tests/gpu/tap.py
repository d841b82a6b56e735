"""Small tests as TAP. A test is a function marked @test; its name is its title."""

import traceback

TESTS = []


class Skip(Exception):
    """Its text names the missing requirement."""


def test(function):
    TESTS.append(function)
    return function


def same(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def main():
    """Runs all of them; the status for exit."""
    failures = 0
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skip as skip:
            print(f"ok {number} - {name} # SKIP {skip}", flush=True)
        except Exception:  # the next test has its own chance
            failures += 1
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
            print(f"not ok {number} - {name}", flush=True)
    print(f"1..{len(TESTS)}")
    return 1 if failures else 0
