#!/usr/bin/env python3
"""Checks the JSON lines that `strobe export --jsonl` wrote of sessions, against `report --json` of each session.

    jsonl.py DIRECTORY NAME...

For each NAME the directory has NAME.jsonl and NAME.report.json (of `report --json --top 0`). Prints a line `pass CHECK` or
`FAIL CHECK: why` for each check."""
import collections
import json
import sys

FOLDER = sys.argv[1]
KINDS = ["capture", "slice", "sample", "wait", "section", "finding"]
LABELS = ["kind", "capture", "process", "app_version", "device", "pid"]
NAME = ""


def check(name, holds, why=""):
    print(f"pass {NAME}: {name}" if holds else f"FAIL {NAME}: {name}: {why}")


def check_fields(lines):
    of_kind = {}
    for line in lines:
        keys = list(line)
        check_same = of_kind.setdefault(line["kind"], keys)
        if keys != check_same or keys[:len(LABELS)] != LABELS or line["kind"] not in KINDS:
            return check("lines of a kind have the same fields", False, keys)
    return check("lines of a kind have the same fields", True)


def check_times(lines, duration):
    wrong = [line for line in lines if "begin_ns" in line and not
             (0 <= line["begin_ns"] <= line["end_ns"] and line["end_ns"] - line["begin_ns"] == line["duration_ns"])]
    check("times are in order", not wrong, wrong[:1])
    late = [line for line in lines if line.get("begin_ns", 0) > duration]
    check("times are since the session's begin", not late, late[:1])


def check_nesting(slices):
    """Slices come in the order of their ends: those within a slice come before it."""
    waiting = collections.defaultdict(list)  # by thread: slices whose outer slice has not come yet
    for s in slices:
        thread = waiting[s["tid"], s["thread"]]
        inner = [i for i in thread if i["depth"] == s["depth"] + 1 and s["begin_ns"] <= i["begin_ns"]
                 and i["path"][:-1] == s["path"]]
        within = sum(i["duration_ns"] for i in inner)
        if s["path"][-1] != s["name"] or len(s["path"]) != s["depth"] or s["self_ns"] != s["duration_ns"] - within:
            return check("slices nest", False, s)
        waiting[s["tid"], s["thread"]] = [i for i in thread if i not in inner] + [s]
    return check("slices nest", all(i["depth"] == 1 for thread in waiting.values() for i in thread))


def check_methods(slices, report):
    """Sums of self time are those of the report."""
    sums = collections.Counter()
    for s in slices:
        if s["class"] in ("function", "placeholder"):
            sums[s["name"], s["image"] or ""] += s["self_ns"]
    for method in report["methods"]:
        key = method["name"], method.get("image") or ""
        if abs(sums[key] - method["self_ns"]) > 1:
            return check("self times are those of the report", False, f"{key}: {sums[key]}, {method['self_ns']}")
    return check("self times are those of the report", bool(sums))


def check_session(lines, report):
    by_kind = {kind: [line for line in lines if line["kind"] == kind] for kind in KINDS}
    check("the first line is the capture", lines[0]["kind"] == "capture" and len(by_kind["capture"]) == 1)
    capture = by_kind["capture"][0]
    check_fields(lines)
    check_times(lines, capture["duration_ns"])
    check_nesting(by_kind["slice"])
    check_methods(by_kind["slice"], report)
    counted = sum(line["count"] for line in by_kind["sample"])
    check("all samples are there", counted == capture["samples"] and (counted or NAME == "calls"), f"{counted} of {capture['samples']}")
    waits = [s for s in by_kind["slice"] if s["class"] == "wait"]
    check("each blocking call is a wait", [(w["tid"], w["begin_ns"], w["end_ns"], w["path"]) for w in by_kind["wait"]] ==
          [(w["tid"], w["begin_ns"], w["end_ns"], w["path"]) for w in waits])
    wrong = [w for w in by_kind["wait"] if w["outcome"] == "woken" and not
             (w["waker_thread"] and w["begin_ns"] <= w["release_ns"] <= w["end_ns"])]
    check("a waker releases within the wait", not wrong, wrong[:1])


for NAME in sys.argv[2:]:
    with open(f"{FOLDER}/{NAME}.jsonl", encoding="utf-8") as file:
        written = [json.loads(text) for text in file]
    with open(f"{FOLDER}/{NAME}.report.json", encoding="utf-8") as file:
        check_session(written, json.load(file))
