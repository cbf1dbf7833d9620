#!/usr/bin/env python3
"""Selects the rows that a change of the tree concerns, since a commit.

    changed.py              prints the paths that differ; status 1 when there is no commit to compare with
    changed.py PATTERN...   status 0 when a path that matches a pattern differs, or when there is nothing to compare with

The files that differ from the commit count, those that are not committed included. The order, most important first:

    1. rows that are new, or whose own text differs from the commit's table
    2. rows whose function differs
    3. rows with a killer that differs: its test, program, case, suite or scenario
    4. other rows of files that differ"""
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from commands import commands_of
from table import Fault, parse_source, read_table


def git(*words):
    """Returns the output of git, or None when it fails."""
    done = subprocess.run(["git", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout if done.returncode == 0 else None


def find_base(base):
    """Returns the commit to compare with. Without a base it is where origin/main or main and this branch part; on main
    itself it is the commit before the last. None: a clone of depth 1 has neither."""
    if base:
        found = git("merge-base", "HEAD", base)
        if not found:
            raise Fault(f"--changed {base}: expected a commit that this branch has an ancestor in common with")
        return found.strip()
    for name in ("origin/main", "main"):
        found = git("merge-base", "HEAD", name)
        if found and found != git("rev-parse", "HEAD"):
            return found.strip()
    found = git("rev-parse", "--quiet", "--verify", "HEAD^")
    return found.strip() if found else None


def changed_paths(base):
    """Returns the paths that differ from the base in commits, in the working tree, or by being untracked."""
    return set((git("diff", "--name-only", base) or "").split("\n")
               + (git("ls-files", "--others", "--exclude-standard") or "").split("\n")) - {""}


def rows_since(rows, base):
    """Returns the rows that differ since the base, the most important first, and prints how many there are."""
    base = find_base(base)
    if not base:
        print("SKIP all rows: this clone has no commit to compare with")
        return []
    paths, old = changed_paths(base), OldTree(base)
    ranked = sorted(((rank(row, paths, old), row.name, row) for row in rows), key=lambda entry: entry[:2])
    chosen = [row for order, _, row in ranked if order]
    print(f"{len(chosen)} of {len(rows)} mutants are concerned by what changed since {base[:12]}", flush=True)
    if not chosen:
        print("SKIP all rows: none is concerned")
    return chosen


def rank(row, paths, old):
    """Returns the place of a row in the order above, or 0 when nothing of it changed."""
    if row.place.rpartition(":")[0] in paths and old.row_text(row) != row.text():
        return 1
    touched = [change for change in row.changes if change.path in paths]
    if any(old.item(change) != item_text(Path(change.path).read_text(), change.within) for change in touched):
        return 2
    patterns = [pattern for command in commands_of(row) for pattern in command.sources()]
    if any(re.fullmatch(pattern, path) for pattern in patterns for path in paths):
        return 3
    return 4 if touched else 0


class OldTree:
    """The tree at the base."""

    def __init__(self, base):
        self.base, self.texts, self.tables = base, {}, {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = git("show", f"{self.base}:{path}") or ""
        return self.texts[path]

    def item(self, change):
        return item_text(self.text(change.path), change.within)

    def row_text(self, row):
        """Returns the text of the row of this name in the same table, or ""."""
        path = row.place.rpartition(":")[0]
        if path not in self.tables:
            self.tables[path] = {old.name: old.text() for old in read_table(path, self.text(path))}
        return self.tables[path].get(row.name, "")


def item_text(text, name):
    """Returns the tokens of what a row names in a file, as one text."""
    source = parse_source(text)
    spans = source.items.get(name, []) if name else [(0, len(text))]
    return "\n".join(word for start, end in spans
                     for word, at in zip(source.words, source.starts) if start <= at < end)


def main():
    patterns, base = sys.argv[1:], find_base(None)
    paths = changed_paths(base) if base else set()
    if not patterns:
        print(*sorted(paths), sep="\n")
        return 0 if base else 1
    return 0 if not base or any(fnmatchcase(path, pattern) for path in paths for pattern in patterns) else 1


if __name__ == "__main__":
    sys.exit(main())
