#!/usr/bin/env python3
"""Checks profiles that `strobe convert` wrote, with readers of their own, against `report --json` of the session.

    check.py DIRECTORY NAME...

For each NAME the directory has NAME.pb.gz, NAME.firefox.json and NAME.report.json (of `report --json --top 0`). Prints a line `pass
CHECK` or `FAIL CHECK: why` for each check. The numbers of fields are those of profile.proto; the rules of the second
format are those of src/types/profile.js of the Firefox Profiler, version 48."""
import gzip
import json
import sys

FOLDER = sys.argv[1]
NAME = ""  # of the session that is checked now
VALUES = [("samples", "count"), ("cpu", "nanoseconds"), ("wall", "nanoseconds"), ("off-cpu", "nanoseconds"),
          ("alloc_space", "bytes")]
COLORS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red",
          "lightred", "darkgrey", "grey"}


def check(name, holds, why=""):
    print(f"pass {NAME}: {name}" if holds else f"FAIL {NAME}: {name}: {why}")


# ---- pprof


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields (number, value) of a message; a value is an integer or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is cut off"
        else:
            raise AssertionError(f"wire type {key & 7}")
        yield key >> 3, value


def decode(data, repeated=()):
    message = {number: [] for number in repeated}
    for number, value in fields(data):
        if number in repeated:
            message[number].append(value)
        else:
            assert number not in message, f"field {number} twice"
            message[number] = value
    return message


def check_pprof(report):
    with gzip.open(f"{FOLDER}/{NAME}.pb.gz") as file:
        profile = decode(file.read(), repeated=(1, 2, 3, 4, 5, 6))
    strings = [text.decode("utf-8") for text in profile[6]]
    types = [decode(t) for t in profile[1]]
    check("types of values", [(strings[t[1]], strings[t[2]]) for t in types] == VALUES)
    check("the string table begins with an empty text", strings[0] == "" and len(set(strings)) == len(strings))
    mappings = {m[1]: m for m in map(decode, profile[3])}
    functions = {f[1]: f for f in map(decode, profile[5])}
    locations = {m[1]: m for m in (decode(entry, repeated=(4,)) for entry in profile[4])}
    check("ids are unique and not 0", len(mappings) == len(profile[3]) and len(functions) == len(profile[5]) and
          len(locations) == len(profile[4]) and not {0} & {*mappings, *functions, *locations})
    lines = {i: decode(m[4][0]) for i, m in locations.items()}
    check("each location has a function and a mapping that exist",
          all(line[1] in functions for line in lines.values()) and
          all(m[2] in mappings for m in locations.values() if m.get(2)))
    sums, self_ns, by_thread, paths = [0] * len(VALUES), {}, {}, set()
    for entry in profile[2]:
        sample = decode(entry, repeated=(1, 2, 3))
        labels = {strings[label[1]]: strings[label[2]] if 2 in label else label[3] for label in map(decode, sample[3])}
        assert len(sample[2]) == len(VALUES) and sample[1]
        sums = [a + b for a, b in zip(sums, sample[2])]
        name = strings[functions[lines[sample[1][0]][1]][2]]
        self_ns[name] = self_ns.get(name, 0) + sample[2][2]
        by_thread[labels["tid"]] = by_thread.get(labels["tid"], 0) + sample[2][2]
        paths.add((labels["thread"], labels["tid"], *sample[1]))
    check("each path of a thread is one sample", len(paths) == len(profile[2]))
    check("wall time is that of the threads", by_thread ==
          {t["tid"]: t["wall_ns"] for t in report["threads"] if t["wall_ns"]}, f"{by_thread}")
    # A name can be a method of two files, and also a call that a sample shows as a function.
    wanted = {}
    for method in report["methods"]:
        wanted[method["name"]] = wanted.get(method["name"], 0) + method["self_ns"]
    waits = {w["kind"] for w in report["wait_kinds"]}
    wrong = [(n, self_ns.get(n), ns) for n, ns in wanted.items() if n not in waits and ns != self_ns.get(n, 0)]
    check("self times are those of the report", len(wanted) > 2 and not wrong, f"{wrong[:3]}")
    cpu_ns = sum(m["self_cpu_ns"] for m in report["methods"])
    check("CPU time is at least that of the methods", sums[1] >= cpu_ns, f"{sums[1]}, {cpu_ns}")
    samples = sum(t["samples"] for t in report["threads"])
    check("samples are at most those of the session", 0 <= sums[0] <= samples, f"{sums[0]} of {samples}")
    allocated = sum(m["alloc_self_bytes"] for m in report["methods"])
    check("allocated bytes are those of the methods", sums[4] == allocated, f"{sums[4]}, {allocated}")
    duration = profile.get(10, 0)
    check("the duration is that of the longest thread", duration >= max(t["wall_ns"] for t in report["threads"]) and
          duration <= report["wall_ns"] + 2000000, f"{duration}, {report['wall_ns']}")


# ---- Firefox Profiler


def is_table(table):
    columns = [column for column in table.values() if isinstance(column, list)]
    return all(len(column) == table["length"] for column in columns)


def in_range(column, limit, null=False):
    return all((null and value is None) or (isinstance(value, int) and 0 <= value < limit) for value in column)


def check_thread(thread, meta, libs):
    """Returns what is wrong with the tables of a thread."""
    samples, markers, stacks = thread["samples"], thread["markers"], thread["stackTable"]
    frames, funcs, resources = thread["frameTable"], thread["funcTable"], thread["resourceTable"]
    strings, categories = thread["stringArray"], len(meta["categories"])
    tables = samples, markers, stacks, frames, funcs, resources, thread["nativeSymbols"]
    schemas = {schema["name"] for schema in meta["markerSchema"]}
    rules = {
        "columns have one length": all(map(is_table, tables)),
        "stacks of samples": in_range(samples["stack"], stacks["length"], null=True),
        "times of samples": samples["time"] == sorted(samples["time"]),
        "CPU times": all(isinstance(cpu, int) and cpu >= 0 for cpu in samples["threadCPUDelta"]),
        "weights": samples["weightType"] == "tracing-ms" and all(w >= 0 for w in samples["weight"]),
        "weights lead to the next sample": all(
            abs(a + w - b) < 1e-5 for a, w, b in zip(samples["time"], samples["weight"], samples["time"][1:])),
        "prefixes come before their stacks": all(p is None or 0 <= p < i for i, p in enumerate(stacks["prefix"])),
        "frames of stacks": in_range(stacks["frame"], frames["length"]),
        "categories of stacks": in_range(stacks["category"], categories),
        "functions of frames": in_range(frames["func"], funcs["length"]),
        "names of functions": in_range(funcs["name"], len(strings)),
        "files of functions": in_range(funcs["fileName"], len(strings), null=True),
        "resources of functions": all(-1 <= r < resources["length"] for r in funcs["resource"]),
        "libs of resources": in_range(resources["lib"], len(libs)),
        "names of resources": in_range(resources["name"], len(strings)),
        "names of markers": in_range(markers["name"], len(strings)),
        "categories of markers": in_range(markers["category"], categories),
        "phases of markers": all((phase == 1) == (end is not None) and phase in (0, 1) and
                                 (end is None or begin <= end) for phase, begin, end in
                                 zip(markers["phase"], markers["startTime"], markers["endTime"])),
        "types of markers": all(data["type"] in schemas for data in markers["data"]),
        "strings are distinct": len(set(strings)) == len(strings),
        "the process is a text": isinstance(thread["pid"], str),
    }
    return [rule for rule, holds in rules.items() if not holds]


def check_firefox(report):
    with open(f"{FOLDER}/{NAME}.firefox.json", encoding="utf-8") as file:
        profile = json.load(file)
    meta, threads = profile["meta"], profile["threads"]
    check("the version is 48", meta["preprocessedProfileVersion"] == 48 and meta["interval"] > 0)
    check("categories have colors, one is grey", {c["color"] for c in meta["categories"]} <= COLORS and
          any(c["color"] == "grey" for c in meta["categories"]) and
          all(c["subcategories"] == ["Other"] for c in meta["categories"]))
    wrong = [(t["name"], rules) for t in threads if (rules := check_thread(t, meta, profile["libs"]))]
    check("tables are consistent", threads and not wrong, f"{wrong[:2]}")
    weights = sorted((t["tid"], round(sum(t["samples"]["weight"]) * 1e6 / 1000)) for t in threads)
    walls = sorted((t["tid"], round(t["wall_ns"] / 1000)) for t in report["threads"] if t["slices"])
    check("weights are the wall time of the threads", len(weights) == len(walls) and
          all(a[0] == b[0] and abs(a[1] - b[1]) <= 1 for a, b in zip(weights, walls)), f"{weights[:3]}, {walls[:3]}")
    cpu = sorted((t["tid"], sum(t["samples"]["threadCPUDelta"])) for t in threads)
    check("CPU time is that of the threads",
          cpu == sorted((t["tid"], t["cpu_ns"]) for t in report["threads"] if t["slices"]), f"{cpu[:3]}")
    waits = sum(data["type"] == "Wait" for t in threads for data in t["markers"]["data"])
    check("each wait is a marker", waits == sum(t["waits"] for t in report["threads"]), f"{waits}")
    sections = sum(data["type"] == "Section" for t in threads for data in t["markers"]["data"])
    check("each section is a marker", sections == sum(s["count"] for s in report["sections"]), f"{sections}")


def check_session(name):
    global NAME
    NAME = name
    with open(f"{FOLDER}/{NAME}.report.json", encoding="utf-8") as file:
        report = json.load(file)
    check_pprof(report)
    check_firefox(report)


for session in sys.argv[2:]:
    check_session(session)
