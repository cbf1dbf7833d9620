"""Compares the measurements of two trees and prints a table."""
import collections
import re
import subprocess

# A figure grew when it is larger by more than the tolerance and by more than these amounts, which are larger than what
# chance changes: such as the order of threads.
CHANCE = {"instructions": 500, "session": 512, "trace": 256, "heap": 1024, "allocations": 2}
FUNCTIONS_SHOWN = 5
TRAILER = re.compile(r"(\S+) \+(\d+(?:\.\d+)?) ?% (\S.*)")
COLUMNS = "{:<44} {:>15} {:>15} {:>10}  {}"


class BadTrailer(Exception):
    """A `Gate:` line that is not of the form. The text has one line."""


class Acceptances:
    """The growths that commits accept: lines `Gate: NAME +3% REASON` at the end of their messages. NAME is a row or
    ROW:FIGURE. The growths of several commits multiply."""

    def __init__(self):
        self.factors = collections.defaultdict(lambda: 1.0)
        self.reasons, self.used = collections.defaultdict(list), set()

    def add(self, line, where):
        found = TRAILER.fullmatch(line.strip())
        if not found:
            raise BadTrailer(f"{where}: `Gate: {line.strip()}`: expected `Gate: NAME +3% REASON`")
        self.factors[found[1]] *= 1 + float(found[2]) / 100
        self.reasons[found[1]].append(found[3])

    def find(self, row, figure):
        """Returns the percent that is accepted for a figure, and the reason. A row's own name covers its
        instructions."""
        names = [f"{row}:{figure}"] if figure else [row]
        if figure and (figure not in CHANCE):
            names.append(row)
        for name in names:
            if name in self.factors:
                self.used.add(name)
                return 100 * (self.factors[name] - 1), "; ".join(self.reasons[name])
        return 0.0, ""

    def unused(self):
        return sorted(set(self.factors) - self.used)


def read_acceptances(home, base):
    """Returns what the commits after `base` accept."""
    accepted = Acceptances()
    said = subprocess.run(["git", "-C", home, "log", "--format=%h%x1f%(trailers:key=Gate,valueonly,unfold)%x1e",
                           f"{base}..HEAD"], capture_output=True, text=True, check=True).stdout
    for commit in said.split("\x1e"):
        name, _, lines = commit.strip().partition("\x1f")
        for line in filter(None, lines.splitlines()):
            accepted.add(line, f"commit {name}")
    return accepted


def percent(old, new):
    return 100 * (new - old) / old if old else (100.0 if new else 0.0)


class Table:
    """Judges figures and prints a line for each."""

    def __init__(self, tolerance, accepted):
        self.tolerance, self.accepted = tolerance, accepted
        self.grown, self.passed, self.suggested = [], 0, []

    def judge(self, row, figure, old, new):
        """Returns the verdict on a figure: `ok`, `shrank`, `accepted: REASON` or `GREW`."""
        change = percent(old, new)
        if abs(change) <= self.tolerance or abs(new - old) <= CHANCE.get(figure, CHANCE["instructions"]):
            return "ok"
        if change < 0:
            return "shrank"
        limit, reason = self.accepted.find(row, figure)
        if limit and change <= limit + 0.005:
            return f"accepted up to +{limit:.4g} %: {reason}"
        return "GREW"

    def line(self, row, figure, old, new, shown=True):
        """Judges a figure and prints it, unless it need not be shown and has not changed."""
        verdict = self.judge(row, figure, old, new)
        if shown or verdict != "ok":
            label = f"  {figure}" if figure else row
            print(COLUMNS.format(label, f"{old:,}", f"{new:,}", f"{percent(old, new):+.2f} %", verdict))
        if verdict == "GREW":
            name = f"{row}:{figure}" if figure else row
            self.grown.append(name)
            self.suggested.append(f"Gate: {name} +{percent(old, new) + 0.05:.1f}% REASON")
        else:
            self.passed += 1
        return verdict

    def functions(self, old, new, directory=None):
        """Prints the functions that changed most, of one directory or of all."""
        keys = [k for k in old.keys() | new.keys() if directory in (None, k[0])]
        ranked = sorted(keys, key=lambda k: (-abs(new[k] - old[k]), k))
        for key in [k for k in ranked if new[k] != old[k]][:FUNCTIONS_SHOWN]:
            share = f"{percent(old[key], new[key]):+.1f} %" if old[key] else "new"
            print(COLUMNS.format(f"      {key[1]}"[:44], f"{old[key]:,}", f"{new[key]:,}", share, key[0]))

    def directories(self, row, old, new):
        """Judges each directory that both trees run. The whole row covers a directory that is new."""
        sums = [collections.Counter(), collections.Counter()]
        for total, counts in zip(sums, (old, new)):
            for (directory, _), n in counts.items():
                total[directory] += n
        explained = False
        for directory in sorted(sums[0].keys() & sums[1].keys()):
            if self.line(row, directory, sums[0][directory], sums[1][directory], shown=False) != "ok":
                self.functions(old, new, directory)
                explained = True
        return explained

    def row(self, name, old, new):
        verdict = self.line(name, "", sum(old.counts.values()), sum(new.counts.values()))
        if not self.directories(name, old.counts, new.counts) and verdict != "ok":
            self.functions(old.counts, new.counts)
        for figure in (f for f in CHANCE if f in old.figures and f in new.figures):
            self.line(name, figure, old.figures[figure], new.figures[figure])

    def lost(self, name):
        """A row of BASE that this tree lacks. Without this, a driver could be removed to hide what it measures."""
        print(COLUMNS.format(name, "", "gone", "", "GONE"))
        self.grown.append(name)
