"""The programs of one framework, by name: programs.py, onnx_programs.py and jax_programs.py register theirs here."""
PROGRAMS = {}


class Program:
    def __init__(self, make, group, text):
        self.make, self.group, self.text = make, group, text


def program(group, text):
    """Registers a function by its name; it returns a model or function and its arguments."""
    def register(make):
        PROGRAMS[make.__name__] = Program(make, group, text)
        return make
    return register
