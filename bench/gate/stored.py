#!/usr/bin/env python3
"""Counts the instructions of fixed drivers under callgrind and compares them with a stored baseline.

    stored.py DRIVER[,DRIVER...] BASELINE KEY [--update] [--mode MODE] [--tolerance PERCENT]

Each DRIVER runs once for each of its modes, or for MODE only. Callgrind counts only inside its function measured_MODE.
KEY states the compiler and flags of the build. Counts of other builds are not comparable: with another key each mode
is a skip, and `make gate BASE=COMMIT` compares (base.py).

The last line is `N passed, N failed, N skipped`. Exit status 0: no count grew beyond the tolerance, or all were
skipped; 1: a count grew; 2: a driver could not run.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

import callgrind

ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
SHOWN = 5


def die(text):
    print(f"gate: {text}", file=sys.stderr)
    sys.exit(2)


def modes_of(driver):
    try:
        run = subprocess.run([driver, "modes"], env=ENVIRONMENT, capture_output=True, text=True)
    except OSError as e:
        die(f"{driver}: {e.strerror}")
    if run.returncode or not run.stdout:
        die(f"{driver} modes: exit status {run.returncode}: {run.stderr.strip()}")
    return run.stdout.split()


def count(driver, mode, folder):
    out = os.path.join(folder, mode)
    command = ["valgrind", "--tool=callgrind", "-q", f"--toggle-collect=measured_{mode}",
               f"--callgrind-out-file={out}", driver, mode]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    if run.returncode:
        die(f"{' '.join(command)}: exit status {run.returncode}: {run.stderr.strip()}")
    counts = collections.Counter()
    for (_, name), n in callgrind.read_profile(out).items():
        counts[name] += n
    counts = dict(counts)
    if not counts:
        die(f"{mode}: nothing was counted; is measured_{mode} a function of {driver}?")
    return counts


def compare(mode, before, now, tolerance):
    """Prints a line for the mode and the functions that changed. Returns True when the count grew too much."""
    old, new = sum(before.values()), sum(now.values())
    change = 100 * (new - old) / old
    grew = change > tolerance
    word = "GREW" if grew else "shrank" if change < -tolerance else "ok"
    print(f"gate: {mode:8} {old:12} -> {new:12} instructions  {change:+7.2f} %  {word}")
    if abs(change) > tolerance:
        differences = {f: now.get(f, 0) - before.get(f, 0) for f in before.keys() | now.keys()}
        ranked = sorted(differences.items(), key=lambda d: -abs(d[1]))
        for function, difference in [d for d in ranked if d[1]][:SHOWN]:
            was = before.get(function, 0)
            share = f"{100 * difference / was:+.1f} %" if was else "new"
            print(f"gate:     {function}: {was} -> {now.get(function, 0)} ({difference:+}, {share})")
    return grew


def read_baseline(path):
    try:
        with open(path) as f:
            return json.load(f)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as e:
        die(f"{path}: expected a baseline written by `make gate-update`: {e}")


def write_baseline(path, key, counts):
    with open(path, "w") as f:
        json.dump({"key": key, "instructions": counts}, f, indent=1, sort_keys=True)
        f.write("\n")


def skip_all(a, stored):
    """Prints what was not compared, and why."""
    modes = [mode for driver in a.driver.split(",") for mode in modes_of(os.path.abspath(driver))]
    print(f"skipped: {', '.join(modes)}: the baseline is of '{stored['key'] if stored else 'nothing yet'}',"
          f" this build is '{a.key}'; `make gate BASE=COMMIT` compares with a commit")
    print(f"0 passed, 0 failed, {len(modes)} skipped")
    return 0


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("driver")
    p.add_argument("baseline")
    p.add_argument("key")
    p.add_argument("--update", action="store_true")
    p.add_argument("--mode")
    p.add_argument("--tolerance", type=float, default=2.0)
    a = p.parse_args()
    if not shutil.which("valgrind"):
        die("valgrind is not installed")
    stored = read_baseline(a.baseline)
    same_key = stored is not None and stored["key"] == a.key
    if a.update and a.mode:
        die("--update stores all modes")
    if not a.update and not same_key:
        return skip_all(a, stored)
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for driver in map(os.path.abspath, a.driver.split(",")):
            counts.update((mode, count(driver, mode, folder)) for mode in modes_of(driver) if a.mode in (None, mode))
    if not counts:
        die(f"no driver has a mode {a.mode}")
    grew = [mode for mode in counts
            if same_key and mode in stored["instructions"]
            and compare(mode, stored["instructions"][mode], counts[mode], a.tolerance)]
    if a.update:
        for mode in counts:
            if not same_key or mode not in stored["instructions"]:
                print(f"gate: {mode:8} {sum(counts[mode].values()):12} instructions, stored for the first time")
        write_baseline(a.baseline, a.key, counts)
        print(f"gate: wrote {a.baseline} for '{a.key}'")
        return 0
    unknown = [mode for mode in counts if mode not in stored["instructions"]]
    if unknown:
        die(f"no baseline for {', '.join(unknown)}: run `make gate-update`")
    if grew:
        print(f"gate: FAILED: {', '.join(grew)} grew by more than {a.tolerance:g} %. If that is meant,"
              " `make gate-update` stores the new counts.")
    print(f"{len(counts) - len(grew)} passed, {len(grew)} failed, 0 skipped")
    return 1 if grew else 0


sys.exit(main())
