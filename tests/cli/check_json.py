"""Checks of the command's JSON output, for tests/cli/run.sh: prints a line for each, with its faults (checks.py).

usage: check_json.py FOLDER STROBE MANFOLDER CHECK...
"""
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from checks import run_checks

folder, strobe, man = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])


def load(name):
    return json.loads((folder / name).read_text())


def same_numbers():
    """The report of a trace equals that of its session, except for CPU time, which a trace has by slices."""
    session = load("session.json")
    for name in "trace.json", "deflated.json":
        trace = load(name)
        for key in "cpu_ns", "pid":
            if session[key] != trace[key]:
                print(f"{name}: {key} is {trace[key]}, of the session {session[key]}")
        fields = "name tid is_main wall_ns cpu_ns wait_ns gap_ns slices waits samples lost".split()
        active = [t for t in session["threads"] if t["slices"] or t["lost"]]
        if [[t[f] for f in fields] for t in active] != [[t[f] for f in fields] for t in trace["threads"]]:
            print(f"{name}: threads differ: {active} {trace['threads']}")
        times = "self_ns slices".split()
        sums = []
        for report in session, trace:
            by_name = {}
            for m in (m for m in report["methods"] if m["slices"]):
                # Traces know methods by name alone; inclusive times of namesakes may overlap.
                old = by_name.setdefault(m["name"], Counter())
                old.update({t: m[t] for t in times})
            sums.append(by_name)
        if sums[0] != sums[1]:
            print(f"{name}: methods differ: {set(sums[0]) ^ set(sums[1])}")
        names = Counter(m["name"] for m in session["methods"])
        totals = [{m["name"]: m["total_ns"] for m in r["methods"] if names[m["name"]] == 1 and m["slices"]}
                  for r in (session, trace)]
        if totals[0] != totals[1]:
            print(f"{name}: inclusive times differ")
        kinds = [[(w["kind"], w["duration_ns"], w["count"]) for w in r["wait_kinds"]] for r in (session, trace)]
        if sorted(kinds[0]) != sorted(kinds[1]):
            print(f"{name}: waits by kind differ: {kinds}")
        longest = [[(w["kind"], w["tid"], w["duration_ns"], w["arg"], w["unfinished"]) for w in r["waits"]]
                   for r in (session, trace)]
        if sorted(longest[0]) != sorted(longest[1]):
            print(f"{name}: waits differ: {longest}")


def self_times_add_up():
    """Self times of all methods, waits and unseen time fill the threads' wall time; CPU time stays below the threads'."""
    report = load("session.json")
    whole = sum(t["wall_ns"] for t in report["threads"])
    apart = sum(t["wait_ns"] + t["gap_ns"] + t["off_cpu_ns"] for t in report["threads"])
    methods = sum(m["self_ns"] for m in report["methods"])
    if methods + apart != whole:
        print(f"{methods} in methods + {apart} in waits, off the processor and unseen is not {whole}")
    if methods == 0 or not report["balanced"]:
        print("nothing was recorded, or the accounting is inconsistent")
    for m in report["methods"]:
        if m["self_ns"] > m["total_ns"] or m["self_cpu_ns"] > m["total_cpu_ns"]:
            print(f"impossible times: {m}")
    # CPU time by ticks may be two intervals ahead in each thread.
    used = sum(m["self_cpu_ns"] for m in report["methods"])
    if not used or used > report["cpu_ns"] + 2000000 * len(report["threads"]):
        print(f"methods used {used} ns of CPU time, threads {report['cpu_ns']}")
    e = report["events"]
    parts = "sampled gated paused reentrant unwind_failed dropped in_flight".split()
    if e["requests"] != sum(e[p] for p in parts) or e["sampled"] != e["present"] + e["overwritten"]:
        print(f"events do not add up: {e}")
    for key in e:
        if e[key] != sum(kind[key] for kind in report["events_by_kind"].values()):
            print(f"kinds do not add up to {key}")


def fields_are_in_the_man_pages():
    def walk(value, inside, words):
        if isinstance(value, dict):
            for key, part in value.items():
                # Names of kinds and of what was recorded are data, not fields.
                if inside not in ("events_by_kind", "recorded", "values") and key not in words:
                    print(f"{key} (in {inside}) is not in the man page")
                walk(part, key, words)
        elif isinstance(value, list):
            for part in value:
                walk(part, inside, words)

    for name in "session.json", "trace.json", "doctor.json", "findings.json":
        page = "strobe-doctor.1" if name == "doctor.json" else "strobe-report.1"
        walk(load(name), name, set(re.findall(r"[a-z0-9_]+", (man / page).read_text())))


def formats_are_valid():
    def convert(name, *options):
        out = folder / name
        subprocess.run([strobe, "convert", "-q", "-f", str(folder / "good.strobe"), "-o", str(out), *options],
                       check=True)
        return out.read_text()

    slices = sum(t["slices"] for t in load("session.json")["threads"])
    events = json.loads(convert("t.json"))["traceEvents"]
    begins = sum(e["ph"] == "B" for e in events)
    ends = sum(e["ph"] == "E" for e in events)
    if begins != slices or ends != slices:
        print(f"chrome: {begins} begins and {ends} ends, expected {slices}")
    shown = json.loads(convert("t.speedscope.json"))
    opened = sum(e["type"] == "O" for p in shown["profiles"] for e in p["events"])
    if opened != slices:
        print(f"speedscope: {opened} slices, expected {slices}")
    if json.loads(convert("t.dat", "--format", "speedscope")) != shown:
        print("--format and the ending give different outputs")
    for line in convert("t.folded").splitlines():
        if not re.fullmatch(r"[^;]+(;[^;]*)* \d+", line):
            print(f"folded: {line}")


def names_that_are_no_utf8_stay_valid_json():
    several = folder / "several"
    several.mkdir()
    shutil.copy(folder / "good.strobe", several / os.fsdecode(b"a\xff.strobe"))
    said = subprocess.run([strobe, "report", "--json", str(several)], stdout=subprocess.PIPE, check=True).stdout
    try:
        processes = json.loads(said.decode())["processes"]
        if [Path(p["session"]).name for p in processes] != ["a\ufffd.strobe"]:
            print(f"folder: {processes}")
    except ValueError as wrong:
        print(f"folder: {wrong}")


run_checks(sys.argv[4:], globals())
