"""Reports static functions that share their name with a static function of another file, as `path:line: ...`.

Reads paths from stdin. Checks only the directories in COVERED and those below them. Add a directory when its names are
unique.
"""

import collections
import re
import sys

COVERED = tuple(
    f"{directory}/"
    for directory in """
    engine/base engine/capture engine/cmd engine/host engine/store engine/watch
    sim/app sim/cmd sim/explore sim/genuine sim/kernel sim/player sim/policy sim/runtime sim/score sim/trial
    """.split()
)
FUNCTION = re.compile(r"^static\s[^;={}()]*?\b(\w+)\((?!\()", re.M)
ATTRIBUTE = re.compile(r"__attribute__\(\([^()]*(\([^()]*\))?[^()]*\)\)\s*")

places = collections.defaultdict(list)
for path in sys.stdin.read().splitlines():
    if not path.endswith((".c", ".h")) or not path.startswith(COVERED):
        continue
    with open(path, encoding="utf-8") as file:
        text = file.read()
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
