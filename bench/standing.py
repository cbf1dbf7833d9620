#!/usr/bin/env python3
"""Scores of the engine: two tables of bench/README.md, and the `expect` lines of scenarios.

    standing.py STROBE table [SCENARIO...]      prints the scores on the simulated host: medians of five seeds in
                                                virtual time
    standing.py STROBE mach [SCENARIO...]       prints the scores on the fake Mach, beside `ideal` on the simulated
                                                host: the same medians
    standing.py STROBE expects [SCENARIO...]    plays 40 seeds of each scenario; widens the `expect` lines of policies
                                                that a seed breaks or nearly breaks, and prints them
    standing.py STROBE runtimes [SCENARIO...]   plays 5 seeds of each scenario on fake Android runtimes and the fake
                                                Mach; writes the `expect ... on RUNTIME` lines anew, and prints those
                                                that became wider

Run `table` after a change of the engine or of the machine's costs. Run `expects` and `runtimes` after a change that is
meant to change scores. A line that becomes wider must have a reason.
"""
import json
import math
import os
import re
import statistics
import subprocess
import sys

FIXTURES = "fixtures/scenarios"
ONE_SEED = ("long_run",)                                   # the same at each seed
LONG_ON_ART = ("cold_start", "alloc_storm")
FEW_SEEDS = ("cold_start", "thread_churn", "hang")         # long scenarios
ON_MACH = ("ios_launch", "dispatch_storm", "hang", "malloc_deadlock", "thread_churn")
LEARNT = "learnt_"                                         # recorded ones: without `expect` lines
POLICIES = ("strobe", "ideal", "btrace-android", "btrace-ios")
LEVELS = {"fake": ("fake24", "fake30", "fake36"), "mach": ("mach",)}   # runtimes that an `on` line is measured in
MARGIN = 0.4                                               # part of the measured spread that is added to it


def results(strobe, path, policy, seeds, options=()):
    """Returns results of the scenario. Its `expect` lines are not judged when the number of cores is given."""
    printed = subprocess.run([strobe, "run", path, "--print"], capture_output=True, text=True, check=True).stdout
    cores = re.search(r"^cores (\d+)", printed, re.M).group(1)
    command = [strobe, "run", path, "--policy", policy, "--cores", cores, "--json", *options]
    if seeds > 1:
        command += ["--seeds", f"1..{seeds}", "-j", str(os.cpu_count())]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        print(f"standing: {path}: {run.stderr.strip()}", file=sys.stderr)
        sys.exit(1)
    return [json.loads(line) for line in run.stdout.splitlines()] if seeds > 1 else [json.loads(run.stdout)]


def print_row(strobe, path):
    name = os.path.basename(path)[:-4]
    seeds = 1 if name in ONE_SEED else 5
    played = {policy: results(strobe, path, policy, seeds) for policy in POLICIES}

    def median(policy, score):
        return 100 * statistics.median(r[score] for r in played[policy])
    print(f"    {name:<27} {median('strobe', 'agreement'):7.1f} % {median('ideal', 'agreement'):6.1f} % "
          f"{median('btrace-android', 'agreement'):13.1f} % {median('btrace-ios', 'agreement'):9.1f} % "
          f"{median('strobe', 'agreement_resolved'):8.1f} % {median('strobe', 'overhead'):8.2f} %", flush=True)


def print_mach_row(strobe, path):
    played = results(strobe, path, "strobe", 5, ["--runtime", "mach"])
    ideal = results(strobe, path, "ideal", 5)

    def median(of, score):
        return 100 * statistics.median(r[score] for r in of)
    print(f"    {os.path.basename(path)[:-4]:<19} {median(played, 'agreement'):4.1f} % "
          f"{median(ideal, 'agreement'):8.1f} % {median(played, 'agreement_resolved'):8.1f} % "
          f"{median(played, 'overhead'):8.2f} %", flush=True)


def widened(score, values, low, high):
    """Returns bounds that contain all values, in hundredths; for errors and overheads in finer steps."""
    least, most = min(values), max(values)
    margin = MARGIN * max(most - least, 0.002)
    step = 1000 if float(high) < 0.5 else 100
    if float(low) > 0 and least < float(low) + margin / 3:
        low = f"{max(0, math.floor(step * (least - margin)) / step):g}"
    if float(high) < 1 and most > float(high) and score != "false_merges":
        high = f"{min(1, math.ceil(step * (most + margin)) / step):g}"
    return low, high


def update_expects(strobe, path):
    name = os.path.basename(path)[:-4]
    seeds = 1 if name in ONE_SEED else 8 if name in FEW_SEEDS else 40
    with open(path, encoding="utf-8") as file:
        text = file.read()
    played = {}
    for line, score, policy, low, high in re.findall(r"^(expect (\S+) (\S+) ([\d.]+)\.\.([\d.]+))$", text, re.M):
        if policy not in played:
            played[policy] = results(strobe, path, policy, seeds)
        values = [r[score] for r in played[policy]]
        bounds = widened(score, values, low, high)
        if bounds != (low, high):
            print(f"{path}: {score} of {policy} is {min(values):.4g}..{max(values):.4g}: {low}..{high} becomes "
                  f"{bounds[0]}..{bounds[1]}", flush=True)
            text = text.replace(line + "\n", f"expect {score} {policy} {bounds[0]}..{bounds[1]}\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


ON_LINE = re.compile(r"^expect (\S+) strobe on (\S+) ([\d.]+)\.\.([\d.]+)\n", re.M)
SHARES = ("agreement", "agreement_resolved", "waker_recall")           # at least
ERRORS = ("blocked_error", "overhead")                                 # at most


def one_sided(score, values):
    """Returns bounds that contain all values, open where the score is good."""
    least, most = min(values), max(values)
    margin = MARGIN * max(most - least, 0.01)
    if score in SHARES:
        return f"{max(0, math.floor(100 * (least - margin)) / 100):g}", "1"
    return "0", f"{math.ceil(1000 * (most + margin)) / 1000:g}"


def update_runtime_expects(strobe, path):
    name = os.path.basename(path)[:-4]
    seeds = 1 if name in ONE_SEED else 2 if name in LONG_ON_ART else 5
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before = {(score, runtime): (float(low), float(high)) for score, runtime, low, high in ON_LINE.findall(text)}
    lines = []
    for runtime, levels in LEVELS.items():
        played = [r for level in levels for r in results(strobe, path, "strobe", seeds, ["--runtime", level])]
        for score in SHARES + ERRORS:
            low, high = one_sided(score, [r[score] for r in played])
            was = before.get((score, runtime), (0, 1))
            if float(low) < was[0] or float(high) > was[1]:
                print(f"{path}: {score} on {runtime}: {was[0]:g}..{was[1]:g} becomes {low}..{high}", flush=True)
            lines.append(f"expect {score} strobe on {runtime} {low}..{high}\n")
    text = ON_LINE.sub("", text)
    last = [m.end() for m in re.finditer(r"^expect .*\n", text, re.M)]
    at = last[-1] if last else len(text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:at] + "".join(lines) + text[at:])


def main():
    tasks = {"table": print_row, "mach": print_mach_row, "expects": update_expects, "runtimes": update_runtime_expects}
    if len(sys.argv) < 3 or sys.argv[2] not in tasks:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    strobe, what, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == "mach":
        paths = paths or [f"{FIXTURES}/{name}.scn" for name in ON_MACH]
    paths = paths or sorted(f"{FIXTURES}/{f}" for f in os.listdir(FIXTURES)
                            if f.endswith(".scn") and not f.startswith(LEARNT))
    for path in paths:
        tasks[what](strobe, path)


if __name__ == "__main__":
    main()
