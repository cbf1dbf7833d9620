#!/usr/bin/env python3
"""Checks what DuckDB found in the lines of a fleet of captures, by reading the same lines.

    check.py DIRECTORY CAPTURES

DIRECTORY has captures.jsonl, cold_start.csv, grown.csv, and diff.json of `strobe diff --json`. Prints a line `pass CHECK`
or `FAIL CHECK: why` for each check."""
import collections
import csv
import json
import sys

FOLDER, CAPTURES = sys.argv[1], int(sys.argv[2])


def check(name, holds, why=""):
    print(f"pass {name}" if holds else f"FAIL {name}: {why}")


def table(name):
    with open(f"{FOLDER}/{name}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


counts, starts = collections.Counter(), collections.defaultdict(list)
methods = collections.defaultdict(collections.Counter)
with open(f"{FOLDER}/captures.jsonl", encoding="utf-8") as file:
    for text in file:
        line = json.loads(text)
        version = line["app_version"]
        if line["kind"] == "capture":
            counts[version] += 1
        elif line["kind"] == "finding" and line["finding"] == "startup":
            starts[version].append(line["numbers"]["cold_ms"])
        elif line["kind"] == "slice" and line["class"] == "function":
            methods[version][line["name"]] += line["self_ns"]
check("each capture has a line", sum(counts.values()) == CAPTURES and len(counts) == 2, counts)
check("nearly each capture has a cold start", all(len(s) > 0.98 * CAPTURES / 2 for s in starts.values()),
      {version: len(s) for version, s in starts.items()})
rows = {row["app_version"]: row for row in table("cold_start")}
check("the percentiles are those of the lines", set(rows) == set(starts) and all(
    int(row["starts"]) == len(starts[v]) and abs(float(row["cold_ms"]) - quantile(starts[v], 0.95)) < 0.001
    for v, row in rows.items()), rows)
# Config.parse takes 1.5 ms more in the middle, and varies more.
slower = float(rows["1.1"]["cold_ms"]) - float(rows["1.0"]["cold_ms"])
check("the new version starts later", 0.5 < slower < 6, slower)
grown = table("grown")
mean = {v: {name: ns / counts[v] / 1e6 for name, ns in methods[v].items()} for v in methods}
check("the growth is that of the lines", grown and all(
    abs(float(row["grown_ms"]) - (mean["1.1"][row["name"]] - mean["1.0"].get(row["name"], 0))) < 1e-6 for row in grown),
      grown)
check("Config.parse grew most", grown[0]["name"] == "Config.parse" and 1 < float(grown[0]["grown_ms"]) < 2.2 and
      float(grown[1]["grown_ms"]) < 0.3, grown)
with open(f"{FOLDER}/diff.json", encoding="utf-8") as file:
    real = [row for row in json.load(file)["methods_self"] if row["real"]]
most = max(real, key=lambda row: row["change"]) if real else {"name": None, "change": 0}
check("strobe diff finds the same", most["name"] == "Config.parse" and
      abs(most["change"] / 1e6 - float(grown[0]["grown_ms"])) < 0.01, most)
