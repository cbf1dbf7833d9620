#!/usr/bin/env python3
"""Plays on real threads and judges scores by bounds that were measured.

    judge.py play RESULT COMMAND...                     runs COMMAND; its standard output goes to RESULT
    judge.py hold RESULT SCORE QUIET_LOW..HIGH [BUSY_LOW..HIGH]

`play` also writes RESULT.load: the part of a processor that other processes, or the host of a virtual machine, took
meanwhile. `hold` judges by the first bounds when that is at most a tenth, as bench/calibrate.py does, and else by the
second ones; without second ones, a score of a disturbed run is not judged.
"""
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from calibrate import DISTURBED, busy_seconds, own_seconds


def play(result, command):
    began, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    with open(result, "w", encoding="utf-8") as out:
        status = subprocess.run(command, stdout=out).returncode
    others = busy_seconds() - busy - (own_seconds() - own)
    with open(f"{result}.load", "w", encoding="utf-8") as load:
        print(max(0, others / (time.monotonic() - began)), file=load)
    return status


def value_of(result, score):
    if score == "least_thread":   # the agreement of the thread that is shown worst
        return min(t["agreement"] for t in result["threads"])
    return result[score]


def hold(path, score, quiet, busy=None):
    with open(path, encoding="utf-8") as text:
        value = value_of(json.load(text), score)
    with open(f"{path}.load", encoding="utf-8") as text:
        load = float(text.read())
    bounds = quiet if load <= DISTURBED else busy
    if bounds is None:
        return 0
    low, high = map(float, bounds.split(".."))
    print(f"{score} is {value:.4g}, expected {low} .. {high}; others took {load:.2f} processors")
    return int(not low <= value <= high)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("play", "hold"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(play(sys.argv[2], sys.argv[3:]) if sys.argv[1] == "play" else hold(*sys.argv[2:]))
