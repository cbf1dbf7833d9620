"""Prints static functions of engine/ and sim/ that share a name with one of another file, as lines `path:line: ...`.

Reads paths from stdin. Other directories are not covered.
"""

import collections
import re
import sys

COVERED = ("engine/", "sim/")
FUNCTION = re.compile(r"^static\s[^;={}()]*?\b(\w+)\((?!\()", re.M)
# What has parentheses before the function's name: an attribute, and a type of the ELF file's word size.
IN_THE_WAY = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)[ ]*|\bElfW\(\w+\)")


def newlines(match):
    return "\n" * match[0].count("\n")


places = collections.defaultdict(list)
for path in sys.stdin.read().splitlines():
    if not path.endswith((".c", ".h")) or not path.startswith(COVERED):
        continue
    with open(path, encoding="utf-8") as file:
        text = IN_THE_WAY.sub(newlines, file.read())
    seen = set()
    for match in FUNCTION.finditer(text):
        name = match[1]
        if name in seen:
            continue
        seen.add(name)
        places[name].append(f"{path}:{text.count(chr(10), 0, match.start(1)) + 1}")
for name, where in sorted(places.items()):
    for place in where if len(where) > 1 else ():
        print(f"{place}: {len(where)} static functions are called {name}")
