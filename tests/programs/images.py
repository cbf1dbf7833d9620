"""Functions of ELF files by address, for perf's samples: by symbol, otherwise by unwinding entry."""
import bisect
import functools
import os
import re
import struct
import subprocess


def cut_parameters(name):
    """Returns a C++ name without its last parameter list and the text after it."""
    end = name.rfind(")")
    depth = 0
    for at in range(end, -1, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0:
            return name[:at] if at else name
    return name


def cut_result(name):
    """Returns a C++ name without the result's type, which templates have before their name."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {">": 1, ")": 1, "<": -1, "(": -1}.get(name[at], 0)
        if name[at] == " " and depth == 0 and "operator" not in name[:at].rsplit("::", 1)[-1]:
            return name[at + 1:]
    return name


def shorten(name):
    """Returns a function's name in a form that does not depend on the demangler: without parameters, clones, hashes."""
    name = re.sub(r"( \[clone [^]]*\])+$", "", name)
    name = re.sub(r"(\.(isra|constprop|part|cold|lto_priv|llvm|localalias)(\.\d+)?)+$", "", name)
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    name = re.sub(r"@@?[A-Z][\w.]*$", "", name)
    name = re.sub(r"^(LazyCompile|Function|Script|Eval|Builtin|BytecodeHandler|JS|RegExp):", "", name)
    name = re.sub(r"^[~*^]", "", name)
    name = name.replace("(anonymous namespace)", "{anonymous}")
    if re.search(r"\)( const)?(::\{lambda|$)", name) and not name.endswith("operator()"):
        name = cut_parameters(name)
    return cut_result(name) if "<" in name else name.strip()


def cut_version(name):
    """Returns `libx.so+0x40` for `libx.so.1.2+0x40`: the file of a library has a longer version than its soname."""
    return re.sub(r"(\.so)[.\d]+(?=\+|$)", r"\1", name)


def find_debug_file(path):
    """Returns the file with the symbols of a stripped file, by its build id, or None."""
    words = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, errors="replace", check=False).stdout
    found = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", words)
    file = f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug" if found else ""
    return file if os.path.exists(file) else None


class Image:
    """An ELF file: segments, symbols by address, begins of functions by .eh_frame_hdr."""

    def __init__(self, path):
        self.path = path
        self.base = cut_version(path.rsplit("/", 1)[-1])
        self.loads, self.entries = [], []
        self.starts, self.ends, self.names = [], [], {}
        try:
            with open(path, "rb") as file:
                self._read_segments(file.read())
            self._read_symbols()
        except (OSError, struct.error, IndexError):
            pass

    def _read_segments(self, data):
        if data[:5] != b"\x7fELF\x02":
            return
        offset, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        for i in range(count):
            kind, _, at, address, _, in_file, _, _ = struct.unpack_from("<IIQQQQQQ", data, offset + i * size)
            if kind == 1:
                self.loads.append((at, at + in_file, address))
            elif kind == 0x6474E550:
                self._read_entries(data, at, address)

    def _read_entries(self, data, at, address):
        version, pointer, count_as, table_as = data[at:at + 4]
        if version != 1 or count_as != 3 or table_as != 0x3B or pointer & 0x0F != 0x0B:
            return
        count, = struct.unpack_from("<I", data, at + 8)
        self.entries = sorted(address + struct.unpack_from("<i", data, at + 12 + i * 8)[0] for i in range(count))

    def _read_symbols(self):
        found = {}
        debug = find_debug_file(self.path)
        for words in ([self.path], ["-D", self.path], *([[debug]] if debug else [])):
            lines = subprocess.run(["nm", "--defined-only", "-S", *words], capture_output=True, text=True,
                                   check=False).stdout.splitlines()
            for line in lines:
                words = line.split()
                if len(words) == 3 and words[1] in "tTwWi":
                    words.insert(1, "0")
                if len(words) == 4 and words[2] in "tTwWiuV":
                    start, size = int(words[0], 16), int(words[1], 16)
                    found.setdefault(start, [0, set()])
                    found[start][0] = max(found[start][0], size)
                    found[start][1].add(re.sub(r"@.*", "", words[3]))
        order = sorted(found)
        plain = [name for start in order for name in found[start][1]]
        readable = subprocess.run(["c++filt"], input="\n".join(plain), capture_output=True, text=True,
                                  check=False).stdout.splitlines() if plain else []
        names = dict(zip(plain, readable))
        for i, start in enumerate(order):
            size, own = found[start]
            self.starts.append(start)
            self.ends.append(start + size if size else order[i + 1] if i + 1 < len(order) else start + 4096)
            self.names[start] = own | {names.get(name, name) for name in own}

    def find_function(self, offset):
        """Returns the names that the function at a file offset may have."""
        for begin, end, address in self.loads:
            if begin <= offset < end:
                at = address + offset - begin
                break
        else:
            return [f"{self.base}+?"]
        return self.find_at(at)

    def find_at(self, at):
        """Returns the same for an address of the file's own address space."""
        i = bisect.bisect_right(self.starts, at) - 1
        if i >= 0 and at < self.ends[i]:
            return sorted({shorten(name) for name in self.names[self.starts[i]]})
        i = bisect.bisect_right(self.entries, at) - 1
        return [f"{self.base}+0x{self.entries[i] if i >= 0 else at:x}"]


@functools.lru_cache(maxsize=None)
def open_image(path):
    return Image(path)
