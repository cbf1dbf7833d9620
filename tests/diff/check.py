#!/usr/bin/env python3
"""Checks what `strobe diff --json` printed in tests/diff/run.sh: the files *.json of a directory.

    check.py DIRECTORY

Prints a line `pass NAME` or `FAIL NAME` for each check."""
import json
import sys

WORK = sys.argv[1]


def load(name):
    with open(f"{WORK}/{name}") as file:
        return json.load(file)


def row(comparison, table, name):
    return next(r for r in comparison[table] if r["name"] == name)


def check(name, holds):
    print("pass" if holds else "FAIL", name)


def near(comparison, rows, name, wanted_ns):
    """The base of a row times the length of the capture is the time of the report."""
    return abs(row(comparison, rows, name)["base"] * comparison["base"]["captures"][0]["seconds"] - wanted_ns) < 1000


def check_change(apart):
    measure = row(apart, "methods_self", "Text.measure")
    check("the_change_is_that_of_the_scenario", 20e6 < measure["change"] < 40e6)
    check("the_interval_contains_the_change", abs(measure["change"] - 30e6) < 2 * measure["half_width"])
    check("the_caller_has_the_change_too", row(apart, "methods_inclusive", "View.layout")["real"])
    check("paths_lead_to_the_method",
          apart["paths"][0]["path"] == ["Ui.run", "Ui.frame", "View.layout", "Text.measure"])
    tables = [rows for rows in apart.values() if isinstance(rows, list) and rows]
    verdicts = [[r["real"] for r in rows] for rows in tables]
    check("real_rows_come_first", len(tables) > 5 and all(v == sorted(v, reverse=True) for v in verdicts))
    check("real_rows_are_those_below_the_rate",
          all(r["real"] == (r["tested"] and r["adjusted_p"] <= 0.05) for rows in tables for r in rows))
    check("the_sides_are_listed", len(apart["base"]["captures"]) == len(apart["new"]["captures"]) == 10)


def check_times(same, report):
    check("a_capture_equals_itself", same["real"] == 0 and sum(abs(r["change"]) for r in same["methods_self"]) == 0)
    check("one_capture_is_divided_into_blocks", same["base"]["blocks"] == 32)
    large = [m for m in report["methods"] if m["self_ns"] > 20e6]
    check("self_times_are_those_of_the_report", len(large) > 3 and
          all(near(same, "methods_self", m["name"], m["self_ns"]) for m in large))
    check("inclusive_times_too", all(near(same, "methods_inclusive", m["name"], m["total_ns"]) for m in large))
    check("cpu_times_too", all(near(same, "methods_self_cpu", m["name"], m["self_cpu_ns"]) and
                               near(same, "methods_inclusive_cpu", m["name"], m["total_cpu_ns"]) for m in large))
    waits_ns = sum(w["duration_ns"] for w in report["wait_kinds"])
    seconds = same["base"]["captures"][0]["seconds"]
    check("waits_too", waits_ns > 0 and abs(sum(r["base"] for r in same["waits"]) * seconds - waits_ns) < 1000)


def check_stacks():
    def read(name, numbers):
        with open(f"{WORK}/{name}") as file:
            return [line.rstrip("\n").rsplit(" ", numbers) for line in file]

    two = {stack: int(base) for stack, base, _ in read("two.folded", 2)}
    one = {stack.split(";", 1)[1]: int(us) for stack, us in read("one.folded", 1)}
    check("stacks_have_the_times_of_convert", len(one) > 4 and all(abs(two[s] - one[s]) <= 1 for s in one))


check_change(load("apart.json"))
check_times(load("self.json"), load("report.json"))
trace, folder = load("trace.json"), load("folder.json")
check("a_trace_equals_its_session", trace["real"] == 0 and trace["tested"] > 20 and
      all(abs(r["change"]) < 2e6 for table in ("methods_self", "methods_self_cpu") for r in trace[table]))
check("a_trace_has_no_images", trace["names_only"] and not any("image" in r for r in trace["methods_self"]))
check("a_folder_is_a_capture", len(folder["methods_self"]) > 4 and
      not any(r["change"] for r in folder["methods_self"]))
check_stacks()
