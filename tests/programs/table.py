"""Reads tests/programs/table; the head of that file lists the keys."""
import os
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYS = {"program", "needs", "build", "run", "size", "frames", "limit", "same", "modes", "hot", "hang", "user", "threads",
        "beside"}


def complain(place, text):
    print(f"{place}: {text}", file=sys.stderr)
    sys.exit(2)


class Program:
    """A paragraph of the table."""

    def __init__(self, place, values):
        def one(key, default=None):
            return values[key][0] if key in values else default
        missing = {"program", "run", "size"} - set(values)
        if missing:
            complain(place, f"expected a line `{min(missing)} ...`")
        self.name = one("program")
        self.needs = [word.split(":") for word in one("needs", "").split()]
        self.build = values.get("build", [])
        self.command = one("run")
        sizes = one("size").split()
        if len(sizes) != 2 or not re.fullmatch(r"(\d+|-) \d+", " ".join(sizes)):
            complain(place, f"size {one('size')}: expected two numbers, or `-` and a number")
        if len(re.findall(r"(?<!\S)@(?!\S)", self.command)) != 1:
            complain(place, f"run {self.command}: expected one `@` before the program to record")
        self.quick, self.full = sizes
        self.has_frames = one("frames", "no") == "yes"
        self.limits = {}
        for word in one("limit", "").split():
            if not re.fullmatch(r"(cpu|rate|follow)=\d+(\.\d+)?", word):
                complain(place, f"limit {word}: expected cpu=RATIO, rate=RATIO or follow=RATIO")
            self.limits[word.split("=")[0]] = float(word.split("=")[1])
        self.same = one("same", "stdout stderr status").split()
        self.modes = one("modes", "all")
        self.hot = one("hot", "yes")
        self.hang = one("hang")
        self.beside = dict(word.split("=", 1) for word in one("beside", "").split())
        self.threads = one("threads")
        self.is_user = "user" in values

    def missing_package(self):
        """Returns the package of the first required file or command that is missing, or None."""
        for thing, package in self.needs:
            if not (os.path.exists(thing) if thing.startswith("/") else shutil.which(thing)):
                return package
        return None

    def plays(self, mode):
        return self.modes == "all" or (self.modes == "follow") == mode.follow

    def shell_command(self):
        """Returns the command for `bash -c COMMAND NAME PREFIX...`."""
        return re.sub(r"(?<!\S)@(?!\S)", '"$@"', self.command)


def read_table(path=HERE / "table"):
    programs, values, began = [], {}, 0
    lines = path.read_text().splitlines() + [""]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if line.strip():
            key, _, value = line.partition(" ")
            if key not in KEYS:
                complain(f"{path}:{number}", f"{key}: expected one of {', '.join(sorted(KEYS))}")
            began = began or number
            values.setdefault(key, []).append(value.strip())
        elif values:
            programs.append(Program(f"{path}:{began}", values))
            values, began = {}, 0
    return programs
