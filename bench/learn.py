#!/usr/bin/env python3
"""How near learnt scenarios are to their captures: the round trip of fixtures.

    bench/learn.py BUILD [--seed N] [--replays N] [--duration TIME] [-j N] [--bounds FILE] [--floor] [SCENARIO...]

Plays each scenario under the engine (`strobe-lab run`), learns a scenario from the true trace and another one from the
session, and prints a table of what `strobe-lab learn` states: the largest difference of a share of time, the largest
error of a kind of wait that takes 1 % of the threads' time or more, and the largest error of the 50th, 90th and 95th
percentile of a kind of message. Without SCENARIO: all of fixtures/scenarios. --duration plays them for a shorter time.

--floor learns nothing: it compares the capture with other seeds of the very scenario that was captured. A learnt
scenario is hardly nearer than that: what is rare in one run differs from run to run.

--bounds: a file with lines `SCENARIO truth|session SHARE WAITS MESSAGES`, the largest values allowed, in points and
percent; `-`: no bound. Exits with 1 when a value is above its bound, or a line's scenario is not among those played."""
import argparse
import concurrent.futures
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = {"truth": "truth.pftrace", "session": "session.strobe"}
LINES = (r"largest difference ([0-9.]+) points", r"waits +largest error ([0-9.]+) %",
         r"messages +largest error ([0-9.]+) %")


def find_cores(scenario):
    """The processors that a scenario, or a file that it includes, states."""
    text = scenario.read_text()
    for name in re.findall(r'^include "(.*)"', text, re.M):
        text += (scenario.parent / name).read_text()
    stated = re.search(r"^cores (\d+)", text, re.M)
    return stated.group(1) if stated else "4"


def shorten(scenario, duration, folder):
    """A copy of the scenario with another duration. Expectations hold for the whole length only."""
    text = scenario.read_text()
    for name in re.findall(r'^include "(.*)"', text, re.M):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(re.sub(r"^duration .*", f"duration {duration}",
                                          (scenario.parent / name).read_text(), flags=re.M))
    text = re.sub(r"^expect .*\n", "", text, flags=re.M)
    copy = folder / scenario.name
    copy.write_text(re.sub(r"^duration .*", f"duration {duration}", text, flags=re.M))
    return copy


def measure(build, scenario, options):
    """The values of both sources: {source: [share, waits, messages]}, or the text of a failure."""
    values = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        played = shorten(scenario, options.duration, folder) if options.duration else scenario
        lab = f"{build}/strobe-lab"
        subprocess.run([lab, "run", played, "--seed", str(options.seed), "-o", folder / "out"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for source, file in SOURCES.items():
            what = ["--check", played] if options.floor else ["-o", folder / f"{source}.scn", "--cores",
                                                              find_cores(scenario)]
            done = subprocess.run([lab, "learn", folder / "out" / file, *what, "--replays", str(options.replays)],
                                  capture_output=True, text=True, check=False)
            found = [re.search(line, done.stdout) for line in LINES]
            values[source] = ([float(f.group(1)) for f in found] if all(found)
                              else done.stderr.strip() or "no table")
    return values


def read_bounds(path):
    bounds = {}
    for line in Path(path).read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            bounds[words[0], words[1]] = [None if w == "-" else float(w) for w in words[2:5]]
    return bounds


def check(name, values, bounds):
    """Prints a line for each value above its bound. Returns their number."""
    broken = 0
    for source, found in values.items():
        limits = bounds.pop((name, source), None)
        if isinstance(found, str):
            print(f"FAIL {name} {source}: {found}")
            broken += 1
            continue
        for what, value, limit in zip(("share", "waits", "messages"), found, limits or ()):
            if limit is not None and value > limit:
                print(f"FAIL {name} {source}: {what} {value}, at most {limit}")
                broken += 1
    return broken


def print_row(name, values):
    cells = []
    for found in values.values():
        cells += ["-", "-", "-"] if isinstance(found, str) else [
            f"{found[0]:.2f}", f"{found[1]:.1f} %", f"{found[2]:.1f} %"]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("scenarios", nargs="*", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replays", type=int, default=3)
    parser.add_argument("--duration")
    parser.add_argument("--bounds")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_intermixed_args()
    scenarios = options.scenarios or sorted(Path("fixtures/scenarios").glob("*.scn"))
    bounds = read_bounds(options.bounds) if options.bounds else {}
    broken = 0
    print("| scenario | truth: share, points | waits | messages | session: share, points | waits | messages |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, values in zip(scenarios, pool.map(lambda s: measure(options.build, s, options), scenarios)):
            print_row(path.stem, values)
            broken += check(path.stem, values, bounds)
    for name, source in bounds:
        print(f"FAIL {name} {source}: not played")
    return 1 if broken or bounds else 0


if __name__ == "__main__":
    sys.exit(main())
