"""Prints how many slices of a kind of wait a report has, and their time in ms: named_waits.py REPORT.json KIND"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    kinds = {k["kind"]: k for k in json.load(file)["wait_kinds"]}
found = kinds.get(sys.argv[2], {"count": 0, "duration_ns": 0})
print(found["count"], found["duration_ns"] // 1000000)
