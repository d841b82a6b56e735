"""The programs of one framework, by name: what programs.py, onnx_programs.py and jax_programs.py fill."""
PROGRAMS = {}


class Program:
    def __init__(self, make, group, text):
        self.make, self.group, self.text = make, group, text


def program(group, text):
    """Registers a function by its name; it returns what is run and what that is run on."""
    def register(make):
        PROGRAMS[make.__name__] = Program(make, group, text)
        return make
    return register
