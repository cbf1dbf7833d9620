"""Checks of reports of parts of parts.strobe, a session of parts.c: prints a line for each, with its faults (checks.py).

usage: check_parts.py FOLDER STROBE MANFOLDER CHECK...
"""
import functools
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from checks import run_checks

folder, strobe, man = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
session = folder / "parts.strobe"


@functools.cache
def report(*options):
    made = subprocess.run([strobe, "report", "--json", "--top", "0", *options, str(session)], check=True,
                          capture_output=True, text=True)
    return json.loads(made.stdout)


@functools.cache
def folded(*options):
    made = subprocess.run([strobe, "convert", "-q", "--format", "folded", *options, str(session), "-o", "-"],
                          check=True, capture_output=True, text=True)
    return {path: int(weight) for path, weight in (line.rsplit(" ", 1) for line in made.stdout.splitlines())}


def a_thread_alone_is_the_same_as_among_others():
    whole = report()
    if len(whole["threads"]) != 2:
        print(f"{len(whole['threads'])} threads")
    for thread in whole["threads"]:
        alone = report("--thread", str(thread["tid"]))
        if alone["threads"] != [thread]:
            print(f"{alone['threads']} is not {thread}")
        if not alone["methods"]:
            print("no methods")
    named = report("--thread", "second")
    if [t["name"] for t in named["threads"]] != ["second"]:
        print(f"by name: {named['threads']}")


def self_times(made):
    times = Counter()
    for m in made["methods"]:
        times[m["name"]] += m["self_ns"]
    return times


def parts_of_time_add_up():
    whole = report()
    cuts = ["0", "30ms", "77ms", "900s"]
    parts = [report("--from", a, "--to", b) for a, b in zip(cuts, cuts[1:])]
    summed = sum((self_times(p) for p in parts), Counter())
    if summed != self_times(whole):
        print(f"methods: {summed - self_times(whole)} {self_times(whole) - summed}")
    if sum(p["wall_ns"] for p in parts) != whole["wall_ns"]:
        print(f"wall time: {[p['wall_ns'] for p in parts]} is not {whole['wall_ns']}")
    if [p["part"]["from_ns"] for p in parts] != [0, 30000000, 77000000]:
        print(f"parts: {[p['part'] for p in parts]}")


def callers_add_up_to_their_function():
    made = report("--of", "allocates")
    function, method = made["function"], next(m for m in made["methods"] if m["name"] == "allocates")
    for key in "total_ns", "total_cpu_ns", "slices":
        if not function[key] == method[key] == sum(c[key] for c in function["callers"]):
            print(f"{key}: {function[key]}, as a method {method[key]}, callers {function['callers']}")
    names = {c["name"] for c in function["callers"]}
    # A stack that was cut says so where its callers would be.
    if names - {"[stack cut]", "[stack lost]"} != {"one_way", "other_way"}:
        print(f"callers: {names}")


def callees_lie_in_their_function():
    made = report("--of", "work")
    function, method = made["function"], next(m for m in made["methods"] if m["name"] == "work")
    if sum(c["total_ns"] for c in function["callees"]) + method["self_ns"] != function["total_ns"]:
        print(f"{function['callees']} and {method['self_ns']} itself are not {function['total_ns']}")
    names = {c["name"] for c in function["callees"]}
    if not {"one_way", "computes"} <= names:
        print(f"callees: {names}")


def allocations_go_to_who_allocates():
    made = report("--by", "alloc")
    asked, allocations = int((folder / "asked").read_text()), made["allocations"]
    if not 0.97 * asked <= allocations["bytes"] <= 1.03 * asked + 300000:
        print(f"{allocations['bytes']} bytes, the program asked for {asked}")
    if sum(s["bytes"] for s in allocations["stacks"]) + allocations["unplaced_bytes"] != allocations["bytes"]:
        print("stacks do not add up")
    by_name = {m["name"]: m for m in made["methods"]}
    for name in "computes", "work", "one_way":
        if name in by_name and by_name[name]["alloc_self_bytes"]:
            print(f"{name} allocates nothing itself, but has {by_name[name]}")
    if by_name["allocates"]["alloc_self_bytes"] < 0.8 * asked:
        print(f"allocates has {by_name['allocates']} of {asked}")
    for name, method in by_name.items():
        paths = [(s["path"].split(";"), s["bytes"]) for s in allocations["stacks"]]
        own = sum(size for path, size in paths if path[-1] == name)
        total = sum(size for path, size in paths if name in path)
        if (method["alloc_self_bytes"], method["alloc_total_bytes"]) != (own, total):
            print(f"{name} has {method}, its stacks {own} and {total}")
    if made["methods"][0]["name"] != "allocates":
        print(f"ranked first: {made['methods'][0]}")


def allocations_of_parts_add_up():
    whole = report("--by", "alloc")["allocations"]
    tids = [t["tid"] for t in report()["threads"]]
    cuts = ["0", "41ms", "900s"]
    for parts in ([report("--by", "alloc", "--thread", str(t)) for t in tids],
                  [report("--by", "alloc", "--from", a, "--to", b) for a, b in zip(cuts, cuts[1:])]):
        if sum(p["allocations"]["bytes"] for p in parts) != whole["bytes"]:
            print(f"{[p['allocations']['bytes'] for p in parts]} is not {whole['bytes']}")
    stacks = {}
    for path, weight in folded("--by", "alloc").items():
        path = path.split(";", 1)[1]
        stacks[path] = stacks.get(path, 0) + weight
    if sum(stacks.values()) + whole["unplaced_bytes"] != whole["bytes"]:
        print(f"folded: {sum(stacks.values())} is not {whole['bytes']}")
    for stack in whole["stacks"]:
        if stacks.get(stack["path"]) != stack["bytes"]:
            print(f"folded: {stacks.get(stack['path'])} is not {stack}")


def lines_are_in_the_source():
    made = report("--lines")
    lines = [line for line in made["lines"] if line["file"].endswith("parts.c")]
    source = (Path(__file__).parent / "parts.c").read_text().splitlines()
    if not lines or not made["line_samples"]:
        print("no lines")
    begins = {m[1]: n for n, text in enumerate(source, 1) if (m := re.match(r".*?static .*?\b(\w+)\(.*\)$", text))}
    for line in lines:
        begin = begins.get(line["method"], source.index("int main(void)") + 1)
        end = source.index("}", begin) + 1
        if not begin <= line["line"] <= end:
            print(f"{line}: {line['method']} is in lines {begin} to {end}")
    hottest = next((line for line in lines if line["method"] == "computes"), None)
    if not hottest or "1.0 / i" not in source[hottest["line"] - 1] and "for" not in source[hottest["line"] - 1]:
        print(f"hottest of computes: {hottest}")
    if sum(line["samples"] for line in made["lines"]) + made["line_unknown"] != made["line_samples"]:
        print("samples of lines do not add up")


def on_and_off_cpu_add_up():
    wall, cpu, off = folded(), folded("--by", "cpu"), folded("--by", "off-cpu")
    whole = report()
    used = sum(t["cpu_ns"] for t in whole["threads"])
    for path in off:
        if off[path] > wall.get(path, 0) + 1:
            print(f"{path}: {off[path]} off the processor, {wall.get(path)} in all")
    rounded = 1000 * len(wall)
    if abs(sum(off.values()) * 1000 + used - sum(wall.values()) * 1000) > 2 * rounded:
        print(f"{sum(off.values())} us off the processor and {used} ns on it are not {sum(wall.values())} us")
    # Ticks that came in the engine are left out, and stacks by ticks may be two intervals ahead in each thread.
    ticks = whole["events_by_kind"].get("cpu", {"reentrant": 0})
    ahead = 2e6 * len(whole["threads"]) + rounded
    if not used - ticks["reentrant"] * 1.25e6 - ahead <= sum(cpu.values()) * 1000 <= used + ahead:
        print(f"{sum(cpu.values())} us of CPU, threads used {used} ns, {ticks}")
    waits = [p for p in off if p.endswith("[sleep]")]
    if not waits or any(cpu.get(p, 0) > off[p] for p in waits):
        print(f"sleeps: {[(p, cpu.get(p), off[p]) for p in waits]}")


def frames_know_their_source():
    for ending in "speedscope.json", "pftrace":
        subprocess.run([strobe, "convert", "-q", "-f", str(session), "-o", str(folder / f"parts.{ending}")], check=True)
    frames = json.loads((folder / "parts.speedscope.json").read_text())["shared"]["frames"]
    known = {f["name"]: f for f in frames if "file" in f}
    for name in "allocates", "computes", "one_way":
        if not known.get(name, {}).get("file", "").endswith("parts.c") or known[name].get("line", 0) < 10:
            print(f"speedscope: {name} is {known.get(name)}")
    # SourceLocation: field 2 file, 3 function, 4 line; in interned data, field 4.
    trace = (folder / "parts.pftrace").read_bytes()
    found = re.search(rb"\x12.([^\x1a]*parts\.c)\x1a\x08computes\x20(.)", trace, re.S)
    if not found or not 10 < found[2][0] < 30:
        print(f"perfetto: {found}")


def fields_of_parts_are_in_the_man_page():
    words = set(re.findall(r"[a-z0-9_]+", (man / "strobe-report.1").read_text()))

    def walk(value):
        if isinstance(value, dict):
            for key, part in value.items():
                if key not in words:
                    print(f"{key} is not in the man page")
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    made = report("--of", "work", "--by", "alloc", "--lines", "--from", "1ms")
    for key in "part", "function", "allocations", "lines", "line_samples", "line_unknown":
        walk({key: made[key]})


run_checks(sys.argv[4:], globals())
