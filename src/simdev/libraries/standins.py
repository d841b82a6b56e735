#!/usr/bin/env python3
"""Writes a stand-in for each LIBRARY, an installed NVIDIA library such as libcublas.so.13. A stand-in has the same soname, names and
symbol versions. Its functions follow the rules in src/simdev/libraries/standin_calls.def, and compute no results: they call
libsimdev-standin.so. Only the names and the result of the version query are read from LIBRARY."""
import argparse
import ctypes
import fnmatch
import os
import struct
import sys

CORE = "libsimdev-standin.so"
BY_HAND = "standin_by_hand_"  # these names are those of standin.h
KINDS = ["missing", "create", "destroy", "stream", "work", "host", "zero", "size", "text", "fail", "answer", "tell", "property"]
RULES = r"""
@RULES@
"""
X86_64, AARCH64 = 62, 183


class Refused(Exception):
    pass


# --- the exports of an installed library, read without loading it ---

class Installed:
    """soname; machine; functions: (name, version or "", is not the default version) of each exported function."""

    def __init__(self, path):
        self.path, self.soname, self.functions = path, os.path.basename(path), []
        try:
            with open(path, "rb") as file:
                self.read(file)
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}") from error
        except (struct.error, IndexError, ValueError) as error:
            raise Refused(f"{path}: not a shared library with a symbol table") from error

    def read(self, file):
        def part(offset, size):
            file.seek(offset)
            return file.read(size)
        ident, kind, self.machine, sections, count = struct.unpack("<16sHH20xQ12xH2x", part(0, 64))
        if ident[:6] != b"\x7fELF\x02\x01" or kind != 3:
            raise ValueError
        section = list(struct.iter_unpack("<4xI16xQQI20x", part(sections, 64 * count)))
        content = {kind: (part(offset, size), link) for kind, offset, size, link in section if kind in (6, 11, 0x6ffffffd, 0x6fffffff)}
        symbols, link = content[11]
        texts = part(*section[link][1:3])

        def text(offset):
            return texts[offset:texts.index(b"\0", offset)].decode()
        names = self.version_names(content.get(0x6ffffffd, (b"", 0))[0], text)
        numbers = content.get(0x6fffffff, (b"", 0))[0] or struct.pack("<H", 1) * (len(symbols) // 24)
        for (name, info, index), (number,) in zip(struct.iter_unpack("<IBxH16x", symbols), struct.iter_unpack("<H", numbers)):
            is_function = info & 15 in (2, 10) and info >> 4 in (1, 2) and index != 0
            if is_function and text(name)[:1] not in ("", "_"):
                self.functions.append((text(name), names.get(number & 0x7fff, ""), number >> 15))
        for tag, value in struct.iter_unpack("<QQ", content.get(6, (b"", 0))[0]):
            self.soname = text(value) if tag == 14 else self.soname

    @staticmethod
    def version_names(definitions, text):
        names, at, step = {}, 0, 1
        while step and at < len(definitions):
            flags, number, name, step = struct.unpack_from("<2xHH6xII", definitions, at)
            if not flags & 1:
                names[number] = text(struct.unpack_from("<I", definitions, at + name)[0])
            at += step
        return names


# --- what the functions do ---

class Rules:
    """The rules of standin_calls.def for one library."""

    def __init__(self, library):
        self.lines, self.error = None, 0
        for line in RULES.splitlines():
            words = line.split()
            if words[:1] == ["library"]:
                if self.lines is not None:
                    break
                if words[1] == library:
                    self.lines, self.error = [], int(words[2])
            elif self.lines is not None and words and not line.startswith("#"):
                head, patterns = line.split(" : ")
                self.lines.append((head.split(), patterns.split()))

    def of(self, name):
        """The kind of a function, and its results: (argument, bytes)."""
        for head, patterns in self.lines:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                return KINDS.index(head[0]), [tuple(map(int, result.split(":"))) for result in head[1:]]
        return 0, []


def installed_answer(path, name, kind, results):
    """The result of the installed library's version query. 0 if the library cannot be loaded here."""
    try:
        query = getattr(ctypes.CDLL(path, mode=os.RTLD_LAZY), name)
    except (OSError, AttributeError):
        print(f"standins: {path}: its version query failed", file=sys.stderr)
        return 0
    value = ctypes.c_int()
    if KINDS[kind] == "answer":
        query.restype = ctypes.c_size_t
        return query()
    if KINDS[kind] == "property":
        parts = 0
        for part in range(3):
            value.value = 0
            query(part, ctypes.byref(value))
            parts = parts * 1000 + value.value % 1000
        return parts
    query(*([None] if results[0][0] == 1 else []), ctypes.byref(value))
    return value.value


def structure(rules, path, name):
    """struct standin_function, without the pointer to the name."""
    kind, results = rules.of(name)
    value = installed_answer(path, name, kind, results) if KINDS[kind] in ("answer", "tell", "property") else 0
    words = [word for result in (results + 3 * [(0, 0)])[:3] for word in result]
    return struct.pack("<QIii6i4x", 0, kind, rules.error, value & 0x7fffffff, *words)


# --- machine code: a stub for each function stores the address of its structure, and a common part calls the core ---

class X86:
    relative, absolute = 8, 6  # types of relocations: an address in the library, an address of a symbol

    @staticmethod
    def stub(at, data, common):  # lea data(%rip), %r11; jmp common
        return b"\x4c\x8d\x1d" + struct.pack("<i", data - at - 7) + b"\xe9" + struct.pack("<i", common - at - 12)

    @staticmethod
    def jump(at, slot):  # jmp *slot(%rip)
        return b"\xff\x25" + struct.pack("<i", slot - at - 6)

    @staticmethod
    def common(at, slot):  # push the six registers; %rdi: the structure, %rsi: the registers, %rdx: after the return address
        return bytes.fromhex("4151 4150 51 52 56 57 4c89df 4889e6 488d542438 4883ec08 ff15") + struct.pack("<i", slot - at - 29) + \
            bytes.fromhex("4883c438 c3")  # add $56, %rsp; ret


class Arm:
    relative, absolute = 1027, 1025

    @staticmethod
    def address(to, at, address, load):  # adrp, and add or ldr
        pages = (address >> 12) - (at >> 12) & 0x1fffff
        low = 0xf9400000 | (address >> 3 & 0x1ff) << 10 if load else 0x91000000 | (address & 0xfff) << 10
        return struct.pack("<II", 0x90000000 | (pages & 3) << 29 | pages >> 2 << 5 | to, low | to << 5 | to)

    @classmethod
    def stub(cls, at, data, common):  # b common
        return cls.address(16, at, data, False) + struct.pack("<I", 0x14000000 | (common - at - 8 >> 2) & 0x3ffffff)

    @classmethod
    def jump(cls, at, slot):  # br x17
        return cls.address(17, at, slot, True) + struct.pack("<I", 0xd61f0220)

    @classmethod
    def common(cls, at, slot):
        # stp x29, x30, [sp, #-80]!; mov x29, sp; stp x0 to x7, [sp, #16 to #64]; mov x0, x16; add x1, sp, #16; add x2, sp, #80
        save = struct.pack("<9I", 0xa9bb7bfd, 0x910003fd, 0xa90107e0, 0xa9020fe2, 0xa90317e4, 0xa9041fe6, 0xaa1003e0, 0x910043e1, 0x910143e2)
        # blr x17; ldp x29, x30, [sp], #80; ret
        return save + cls.address(17, at + len(save), slot, True) + struct.pack("<3I", 0xd63f0220, 0xa8c57bfd, 0xd65f03c0)


# --- the shared library ---

CODE, COMMON, PAGE = 16, 64, 1 << 16  # bytes of a stub or a jump, of the common part, of a page
# name, type, flags, alignment, size of an entry, section that it refers to. Up to .text: read and run. Then: read and written.
# The last is not loaded.
PARTS = [(".hash", 5, 2, 8, 4, ".dynsym"), (".dynsym", 11, 2, 8, 24, ".dynstr"), (".gnu.version", 0x6fffffff, 2, 2, 2, ".dynsym"),
         (".gnu.version_d", 0x6ffffffd, 2, 8, 0, ".dynstr"), (".dynstr", 3, 2, 1, 0, None), (".rela.dyn", 4, 2, 8, 24, ".dynsym"),
         (".text", 1, 6, 16, 0, None), (".dynamic", 6, 3, PAGE, 16, ".dynstr"), (".got", 1, 3, 8, 8, None), (".data", 1, 3, 8, 0, None),
         (".shstrtab", 3, 0, 1, 0, None)]
NAMES = [part[0] for part in PARTS]


class Texts:
    def __init__(self):
        self.bytes = bytearray(1)

    def add(self, text):
        self.bytes += text.encode() + b"\0"
        return len(self.bytes) - len(text) - 1


def hash_name(name):
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xf0)) & 0x0fffffff
    return value


def hash_table(names):
    """names[0] is the entry that is no symbol."""
    buckets = len(names) // 2 + 1
    first, following = [0] * buckets, [0] * len(names)
    for index, name in enumerate(names[1:], 1):
        bucket = hash_name(name) % buckets
        following[index], first[bucket] = first[bucket], index
    return struct.pack(f"<{2 + buckets + len(names)}I", buckets, len(names), *first, *following)


def version_definitions(soname, versions, texts):
    """Number 1 is the library itself."""
    names = [soname, *versions] if versions else []
    return b"".join(struct.pack("<HHHHIIIII4x", 1, number == 1, number, 1, hash_name(name), 20, 32 if number < len(names) else 0,
                                texts.add(name), 0) for number, name in enumerate(names, 1))


def place_parts(sizes):
    """The offset of each part, in the file and in memory, and the end."""
    at, place = 64 + 4 * 56, {}
    for name, _, _, align, _, _ in PARTS:
        place[name] = at = -(-at // align) * align
        at += sizes[name]
    return place, -(-at // 8) * 8


def write_file(content, place, end, machine, versions):
    """Headers, segments, the parts and their section headers."""
    def size(name):
        return len(content[name])
    text_end, data, data_end = (place[name] + n for name, n in ((".text", size(".text")), (".dynamic", 0), (".data", size(".data"))))
    file = bytearray(end)
    file[:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, 64, end, 0, 64, 56, 4, 64, len(PARTS) + 1,
                            len(PARTS))
    for i, (kind, flags, at, bytes_, align) in enumerate(((1, 5, 0, text_end, PAGE), (1, 6, data, data_end - data, PAGE),
                                                          (2, 6, data, size(".dynamic"), 8), (0x6474e551, 6, 0, 0, 16))):
        struct.pack_into("<IIQQQQQQ", file, 64 + 56 * i, kind, flags, at, at, at, bytes_, bytes_, align)
    sections = bytearray(64)
    for name, kind, flags, align, entry, refers in PARTS:
        file[place[name]:place[name] + size(name)] = content[name]
        information = {".dynsym": 1, ".gnu.version_d": versions + 1}.get(name, 0)
        sections += struct.pack("<IIQQQQIIQQ", content[".shstrtab"].index(name.encode() + b"\0"), kind if size(name) else 0, flags,
                                place[name] if flags else 0, place[name], size(name), NAMES.index(refers) + 1 if refers else 0,
                                information, align, entry)
    return bytes(file + sections)


def stand_in(installed, core, rules):
    """The bytes of the library. The symbols of the core come first, each with a slot in .got, then the functions."""
    code = {X86_64: X86, AARCH64: Arm}.get(installed.machine)
    if not code:
        raise Refused(f"{installed.path}: unsupported processor")
    by_hand = {name[len(BY_HAND):]: name for name, _, _ in core.functions if name.startswith(BY_HAND)}
    imports = ["standin_enter"] + [by_hand[name] for name, _, _ in installed.functions if name in by_hand]
    versions = list(dict.fromkeys(version for _, version, _ in installed.functions if version))
    structures = [structure(rules, installed.path, name) for name, _, _ in installed.functions if name not in by_hand]
    texts = Texts()
    offsets = [0] + [texts.add(name) for name in imports + [name for name, _, _ in installed.functions]]
    numbers = [0] + [1] * len(imports) + [(versions.index(version) + 2 if version else 1) | hidden << 15
                                          for _, version, hidden in installed.functions]
    content = {".hash": hash_table([""] + imports + [name for name, _, _ in installed.functions]),
               ".gnu.version": struct.pack(f"<{len(numbers)}H", *numbers) if versions else b"",
               ".gnu.version_d": version_definitions(installed.soname, versions, texts)}
    soname, needed = texts.add(installed.soname), texts.add(CORE)
    content[".dynstr"] = bytes(texts.bytes)
    content[".shstrtab"] = b"\0" + b"".join(name.encode() + b"\0" for name in NAMES)
    content[".got"] = bytes(8 * len(imports))
    content[".data"] = b"".join(structures) + b"\0"
    tags = 15 if versions else 12
    place, end = place_parts({**{name: len(part) for name, part in content.items()}, ".dynsym": 24 * len(offsets),
                              ".rela.dyn": 24 * (len(imports) + len(structures)), ".text": COMMON + CODE * len(installed.functions),
                              ".dynamic": 16 * tags})
    common, text = place[".text"], bytearray(code.common(place[".text"], place[".got"]).ljust(COMMON, b"\0"))
    symbols = [bytes(24)] + [struct.pack("<IBBHQQ", offset, 0x10, 0, 0, 0, 0) for offset in offsets[1:len(imports) + 1]]
    relocations = [struct.pack("<QIIq", place[".got"] + 8 * i, code.absolute, i + 1, 0) for i in range(len(imports))]
    slot = stub = 0
    for (name, _, _), offset in zip(installed.functions, offsets[len(imports) + 1:]):
        at = common + len(text)
        symbols.append(struct.pack("<IBBHQQ", offset, 0x12, 0, NAMES.index(".text") + 1, at, CODE))
        if name in by_hand:
            slot += 1
            text += code.jump(at, place[".got"] + 8 * slot).ljust(CODE, b"\0")
            continue
        data = place[".data"] + stub * len(structures[0])
        text += code.stub(at, data, common).ljust(CODE, b"\0")
        relocations.append(struct.pack("<QIIq", data, code.relative, 0, place[".dynstr"] + offset))
        stub += 1
    content.update({".dynsym": b"".join(symbols), ".text": bytes(text), ".rela.dyn": b"".join(relocations)})
    dynamic = [(14, soname), (1, needed), (4, place[".hash"]), (6, place[".dynsym"]), (11, 24), (5, place[".dynstr"]),
               (10, len(content[".dynstr"])), (7, place[".rela.dyn"]), (8, len(content[".rela.dyn"])), (9, 24), (30, 8)]
    if versions:
        dynamic += [(0x6ffffff0, place[".gnu.version"]), (0x6ffffffc, place[".gnu.version_d"]), (0x6ffffffd, len(versions) + 1)]
    content[".dynamic"] = b"".join(struct.pack("<QQ", *entry) for entry in dynamic + [(0, 0)])
    return write_file(content, place, end, installed.machine, len(versions))


def write(folder, core, path):
    installed = Installed(path)
    name = installed.soname.split(".so")[0]
    rules = Rules(name[3:] if name.startswith("lib") else name)
    if rules.lines is None:
        raise Refused(f"{path}: standin_calls.def has no rules for this library")
    content, to = stand_in(installed, core, rules), os.path.join(folder, installed.soname)
    fresh = f"{to}.{os.getpid()}"
    with open(fresh, "xb") as file:
        file.write(content)
    os.rename(fresh, to)  # another process may write the same file at this time, and programs may have it loaded


def main():
    parser = argparse.ArgumentParser(prog="standins", description=__doc__)
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the stand-ins; created if necessary")
    parser.add_argument("--cuda", default="13", choices=("12", "13"),
                        help=f"CUDA version of the program; selects the {CORE} in this program's folder, or in cuda12/ below it")
    parser.add_argument("library", nargs="*", metavar="LIBRARY")
    arguments = parser.parse_args()
    here = os.path.join(os.path.dirname(os.path.realpath(__file__)), "cuda12" if arguments.cuda == "12" else "")
    status = 0
    try:
        os.makedirs(arguments.out, exist_ok=True)
        core = Installed(os.path.join(here, CORE))
    except (OSError, Refused) as error:
        print(f"standins: {error}", file=sys.stderr)
        return 1
    for path in arguments.library:
        try:
            write(arguments.out, core, path)
        except (OSError, Refused) as error:
            print(f"standins: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
