"""Checks that tests/PROPERTIES.md agrees with the citations of property ids in the tree.

    ... | python3 tests/tidy/properties.py            reads the paths of a tree; prints one line per fault
    git ls-files | python3 tests/tidy/properties.py --update
                                                      rewrites the list of tests of each property

An id is cited as S-10 or R-7 in text and as _S10 in the name of a test. A range such as "S-1 to S-8" is no citation:
both ends must be defined, but a file with no other citation is not a test of these properties."""
import re
import sys
import textwrap
from pathlib import Path

LIST = "tests/PROPERTIES.md"
CITED = re.compile(r"(?<![\w-])([SR])-(\d+[a-z]?)\b|(?<=[a-z0-9])_([SR])(\d+[a-z]?)(?![0-9A-Za-z])")
MAY_CITE = re.compile(r"[SR]-?\d")  # found sooner than CITED
RANGE = re.compile(r"\b[SR]-\d+[a-z]? to [SR]-\d+[a-z]?\b")
ENTRY = re.compile(r"- \*\*([SR]-\d+[a-z]?)\*\* ")
NO_TEST = re.compile(r"\b(Not applicable|No test yet): \S")
# Files that may cite properties but are not tests.
NO_TESTS = re.compile(r"tests/(mutants|tidy)/|.*\.md$")


def text_of(path):
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def ids_in(text):
    return {f"{a or c}-{b or d}" for a, b, c, d in CITED.findall(text)} if MAY_CITE.search(text) else set()


def tested_in(path):
    return ids_in(RANGE.sub("", text_of(path)))


class Property:
    """An item of the list: a text, then `Tests:` and paths, or the reason why there is no test."""

    def __init__(self, name, line):
        self.name, self.line, self.lines = name, line, []

    def tests(self):
        return re.findall(r"`([^`]+)`", " ".join(self.lines).partition(" Tests:")[2])


def read_list(text):
    found, current = [], None
    for number, line in enumerate(text.splitlines(), 1):
        entry = ENTRY.match(line)
        if entry:
            current = Property(entry[1], number)
            found.append(current)
        elif not line.startswith("  "):
            current = None
        if current:
            current.lines.append(line.strip())
    return found


def faults(paths):
    listed, defined = read_list(text_of(LIST)), set()
    for one in listed:
        where, tests = f"{LIST}:{one.line}: {one.name}", one.tests()
        if one.name in defined:
            yield f"{where} is defined twice"
        defined.add(one.name)
        if not tests and not NO_TEST.search(" ".join(one.lines)):
            yield f"{where} names no test, and no reason (`Not applicable:`, `No test yet:`)"
        for path in tests:
            if not Path(path).is_file():
                yield f"{where} names {path}, which does not exist"
            elif one.name not in tested_in(path):
                yield f"{where} names {path}, which does not cite it"
    for path in paths:
        if ids_in(text_of(path)) <= defined:
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for name in sorted(ids_in(line) - defined):
                yield f"{path}:{number}: cites {name}, which {LIST} does not define"


def update(paths):
    tests = [path for path in sorted(paths) if path.startswith("tests/") and not NO_TESTS.match(path)]
    cites = {path: tested_in(path) for path in tests}
    out, current = [], None
    for line in [*text_of(LIST).splitlines(), ""]:
        entry = ENTRY.match(line)
        if current and not line.startswith("  "):
            names = ", ".join(f"`{path}`" for path in tests if current in cites[path])
            if names:
                out += textwrap.wrap(f"Tests: {names}", 120, initial_indent="  ", subsequent_indent="  ",
                                     break_long_words=False, break_on_hyphens=False)
            current = None
        if entry:
            current, in_tests = entry[1], False
        elif current:
            in_tests = in_tests or line.startswith("  Tests:")
            if in_tests:
                continue
        out.append(line)
    while out and not out[-1]:
        out.pop()
    Path(LIST).write_text("\n".join(out) + "\n")


def main():
    paths = sys.stdin.read().splitlines()
    if sys.argv[1:] == ["--update"]:
        update(paths)
    else:
        for fault in faults(paths):
            print(fault)


main()
