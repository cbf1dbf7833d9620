#!/usr/bin/env python3
"""Checks that each row of the tables of mutants still fits this tree; runs no mutant.

    tests/mutants/match.py [TABLE...]

The original text of each change stands exactly once in the function that the row names, the mutated file differs, and
each command names a test, an explored program, a case or a suite that exists."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from commands import commands_of  # noqa: E402
from table import Fault, read_tables  # noqa: E402

TABLES = Path("tests/mutants/curated")


def fault_of(row):
    """Returns the reason why a row does not fit the tree, or ""."""
    try:
        row.mutate(".")
        missing = [command.fault() for command in commands_of(row) if command.fault()]
    except Fault as fault:
        return str(fault)
    return f"{row.place}: {row.name}: expected {missing[0]}" if missing else ""


def main():
    os.chdir(Path(__file__).resolve().parents[2])
    try:
        rows = [row for place in map(Path, sys.argv[1:] or [TABLES]) for row in read_tables(place)]
    except Fault as fault:
        rows, faults = [], [str(fault)]
    else:
        faults = [fault for row in rows if (fault := fault_of(row))]
    for fault in faults:
        print(f"FAIL {fault}")
    print(f"{len(rows) - len(faults) if rows else 0} passed, {len(faults)} failed")
    sys.exit(1 if faults or not rows else 0)


if __name__ == "__main__":
    main()
