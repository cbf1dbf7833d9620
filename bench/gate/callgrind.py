"""Reads the profiles that valgrind's callgrind writes (valgrind manual, "Callgrind Format Specification")."""
import collections
import re

LIBRARIES = "libraries"   # code of other projects: the C library, the dynamic linker, zlib
SOURCE = re.compile(r"(?:^|/)((?:engine|sim|bench|tests)/.+)/[^/]+$")


def directory_of(path):
    """Returns the directory of a source of this tree, such as `engine/store`, or LIBRARIES."""
    found = SOURCE.search(path)
    return found[1] if found else LIBRARIES


def plain_name(name):
    """Returns a function's name without what the compiler and callgrind append: parts, copies, levels of recursion."""
    return re.sub(r"('\d+|\.(isra|part|constprop|cold)(\.\d+)?)+$", "", name.strip())


class Names:
    """The names of one kind in a profile. A name is written out once, `(7) name`, and later given as `(7)`."""

    def __init__(self):
        self.known = {}

    def take(self, text):
        number, _, name = text.partition(" ")
        if name:
            self.known[number] = name
        return self.known[number]


def read_profile(path):
    """Returns the instructions that each function itself executed, by (directory, function). The directory is that of
    the source line, so that an inline function of a header counts for the header's directory."""
    counts = collections.Counter()
    files, functions = Names(), Names()
    file = function = "???"
    is_call = False
    with open(path) as lines:
        for line in lines:
            key, equals, value = line.rstrip("\n").partition("=")
            if equals and key in ("fl", "fi", "fe"):
                file = directory_of(files.take(value))
            elif equals and key in ("cfl", "cfi"):
                files.take(value)
            elif equals and key == "fn":
                function = plain_name(functions.take(value))
            elif equals and key == "cfn":
                functions.take(value)
            elif equals and key == "calls":
                is_call = True   # the next line has the callee's instructions
            elif line[0] in "+-*0123456789":
                fields = line.split()
                if not is_call and len(fields) > 1:
                    counts[file, function] += int(fields[1])
                is_call = False
    return +counts


def read_command(path):
    """Returns the command of a profile's process."""
    with open(path) as lines:
        for line in lines:
            if line.startswith("cmd:"):
                return line[4:].strip()
    return ""
