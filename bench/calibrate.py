#!/usr/bin/env python3
"""Compares virtual time with real threads: plays scenarios in both modes and compares their scores.

    calibrate.py STROBE [--runs N] [--quick] [--costs FILE | --measure PROGRAM] [--busy N] [--seed N]
                 [--keep FILE | --again FILE] [-o FILE] [SCENARIO...]

Each scenario is played with seeds 1 to N on real threads and in virtual time, first quiet, then beside threads of
another program that compute all the time. For each score, and for each of the ten methods with the largest share, the
table has the median of both modes, the difference real minus virtual, and its 95 % confidence interval (bootstrap of
the medians; the seed of its draws is printed).

A difference of medians beyond its bound is a failure. With --quick, only an interval that lies entirely beyond the
bound is a failure, and the bound of the overhead is wider: see QUICK_OVERHEAD.

The overhead of real threads is the time of the recorded process minus the time of the same work without the tracer. It
contains the tracer's time, and extra time of the app: a lock that is held longer causes more waits. In virtual time
each scenario is therefore also played alone (policy ideal, which has no cost), and the overhead is computed by the same
formula instead of the charged costs.

A real run is valid only when no other process uses the processors. For each run the script reads from /proc/stat the
time of other processes, and the time that the host of a virtual machine steals, and discards disturbed runs. A
scenario with more disturbed runs than requested undisturbed ones is skipped and reported.

On a virtual machine the costs of a tick, a pass of the sampler or a wake-up vary: they change by half within minutes,
as the load of the host's other guests changes. With --measure PROGRAM (strobe-costs), the script measures costs after
the real runs of each scenario, and virtual time plays each seed with each of the last three tables. So the confidence
interval contains the variation of the costs, too: a difference that only one of three measurements causes is not a
failure with --quick.

--keep stores the results of the real runs with their measured costs. --again uses stored results instead of new runs,
to compare another table of costs, or another model, with the same runs.

The output ends with the table of bench/README.md (the medians of both modes) and the line `N passed, N failed, N
skipped`. Exit status 0: no failure; 1: failures; 2: a scenario could not be played.
"""
import argparse
import collections
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

FIXTURES = "fixtures/scenarios"
QUICK = ("event_loop", "abnormal_stack", "hook_free", "album")
TOO_LONG = ("long_run",)                 # 12 hours in real time
BUSY_THREADS = 4
METHODS = 10
DRAWS = 2000
MEASURED_ROUNDS = 5  # of strobe-costs, after each scenario
MEASURED_TABLES = 3  # virtual time plays each seed with each of them
DISTURBED = 0.1      # of a processor, taken by others while a scenario was played

# Score, its format, and the bound of the difference between the medians of the modes; all in percent of its unit.
SCORES = (
    ("agreement", "agreement, exact", 3),
    ("agreement_resolved", "agreement, resolved", 3),
    ("blocked_error", "error of blocked time", None),
    ("waker_recall", "wakers found", 5),
    ("overhead", "overhead", 1),
    ("unseen", "unseen", None),
)
SHARE_BOUND = 2

# The bound of the overhead with --quick. `calibrate.py build/strobe --runs 5 --busy 0`, on two processors of a
# virtual machine, found differences of -2.8 (event_loop), -2.1, -0.5 and 2.2 points in its scenarios, and intervals of
# 4 to 7 points. A tick that costs nothing adds 4.8 points.
QUICK_OVERHEAD = 5

# Real mode has one device for all operations that wait for a device: its calls are reads. Its monitors are mutexes, its
# permits are semaphores, and its threads wait for a collection at a mutex.
DEVICES = ("[read]", "[write]", "[open]", "[sync]", "[net]", "[ipc wait]", "[load]")
PLAYED_AS = dict.fromkeys(DEVICES, "[device]")
PLAYED_AS |= {"[monitor wait]": "[mutex wait]", "[park wait]": "[sem wait]", "[gc wait]": "[mutex wait]"}


def die(text):
    print(f"calibrate: {text}", file=sys.stderr)
    sys.exit(2)


class Refused(Exception):
    """Raised for a scenario that a mode cannot play."""


class Disturbed(Exception):
    """Raised for a scenario with too few undisturbed runs."""


class Draws:
    """The random draws of the bootstrap, and whether bounds apply to its intervals instead of the medians."""

    def __init__(self, seed, intervals):
        self.random = random.Random(seed)
        self.intervals = intervals

    def bound_of(self, score, bound):
        return QUICK_OVERHEAD if self.intervals and score == "overhead" else bound


class Costs:
    """The cost table of virtual time: one for all scenarios, or one measured with the real runs of each scenario."""

    def __init__(self, program, path):
        self.program, self.path, self.own = program, path, None
        self.tables = collections.deque(maxlen=MEASURED_TABLES)
        if not path:
            handle, self.own = tempfile.mkstemp(prefix="strobe-costs-", suffix=".json")
            os.close(handle)

    def measure(self):
        command = [self.program, "-n", str(MEASURED_ROUNDS), "-o", self.own]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
            die(f"{' '.join(command)}: failed")
        with open(self.own, encoding="utf-8") as text:
            self.tables.append(json.load(text))

    def begin(self):
        while self.program and len(self.tables) < MEASURED_TABLES - 1:
            self.measure()

    def end(self):
        """Returns the latest measured tables, that of this scenario included; none when costs are not measured."""
        if not self.program:
            return []
        self.measure()
        return list(self.tables)

    def options(self, table):
        """Returns the options that set the cost table. A given table takes precedence over a measured one."""
        if self.path or not table:
            return ["--costs", self.path] if self.path else []
        with open(self.own, "w", encoding="utf-8") as out:
            json.dump(table, out)
        return ["--costs", self.own]

    def close(self):
        if self.own:
            os.unlink(self.own)


class RealRuns:
    """Real runs: played now, or read from a file of an earlier call."""

    def __init__(self, path, costs):
        self.kept, self.again, self.costs = {}, path is not None, costs
        if path:
            with open(path, encoding="utf-8") as text:
                self.kept = json.load(text)

    def play(self, strobe, path, options, runs):
        """Returns results by seed, too few when the machine was disturbed, and the costs measured with them."""
        key = " ".join([os.path.basename(path), *options])
        if self.again:
            return self.kept.get(key, {}), self.kept.get("costs", {}).get(key, [])
        self.costs.begin()
        results, seed, disturbed = {}, 0, 0
        while len(results) < runs and disturbed <= runs:
            seed += 1
            played = play_undisturbed(strobe, path, seed, options)
            disturbed += played is None
            if played:
                results[str(seed)] = {name: played[name] for name in (*(s[0] for s in SCORES), "methods", "thread_ns")}
        tables = self.costs.end()
        self.kept[key] = results
        self.kept.setdefault("costs", {})[key] = tables
        return results, tables


def play(strobe, path, mode, seed, options):
    command = [strobe, "run", path, "--mode", mode, "--seed", str(seed), "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == 2:
        raise Refused(run.stderr.strip().splitlines()[-1] if run.stderr.strip() else "no reason given")
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        die(f"{' '.join(command)}: exit status {run.returncode}: {run.stderr.strip()}")


def play_virtual(strobe, path, seed, options):
    """A result of virtual time, its overhead by the formula of real mode (sim/player/real.c, divide_cpu)."""
    traced = play(strobe, path, "virtual", seed, options)
    alone = play(strobe, path, "virtual", seed, [*options, "--policy", "ideal"])
    part = traced["work_ns"] / alone["work_ns"] if alone["work_ns"] else 1
    app = alone["app_cpu_ns"] * part
    traced["overhead"] = max(0, traced["app_cpu_ns"] + traced["tracer_cpu_ns"] - app) / app if app else 0
    return traced


def busy_seconds():
    """Returns the CPU time that processes of this machine used, and that its host stole, since its start."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _idle, _wait, irq, softirq, steal = (int(n) for n in stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def play_undisturbed(strobe, path, seed, options):
    """Returns a real run's result, or None when other processes disturbed it."""
    began, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    result = play(strobe, path, "real", seed, options)
    others = busy_seconds() - busy - (own_seconds() - own)
    return result if others <= DISTURBED * (time.monotonic() - began) else None


def cores_of(strobe, path):
    run = subprocess.run([strobe, "run", path, "--print"], capture_output=True, text=True)
    if run.returncode:
        die(run.stderr.strip())
    said = {line.split()[0]: line.split()[1] for line in run.stdout.splitlines() if len(line.split()) == 2}
    return int(said["cores"]), int(said.get("busy", 0))


def shares(result, member):
    """Returns each method's share of the lifetime of threads, in percent. All devices count as one method."""
    parts = {}
    for method in result["methods"]:
        name = PLAYED_AS.get(method["name"], method["name"])
        parts[name] = parts.get(name, 0) + 100 * method[member] / max(1, result["thread_ns"])
    return parts


def interval(virtual, real, draws):
    """Returns the 95 % confidence interval of the difference of medians, by resampling with replacement."""
    differences = sorted(
        statistics.median(draws.choices(real, k=len(real))) - statistics.median(draws.choices(virtual, k=len(virtual)))
        for _ in range(DRAWS))
    return differences[int(DRAWS * 0.025)], differences[int(DRAWS * 0.975) - 1]


def compare(name, virtual, real, bound, draws):
    low, high = interval(virtual, real, draws.random)
    row = {"name": name, "virtual": statistics.median(virtual), "real": statistics.median(real), "low": low,
           "high": high, "bound": bound}
    row["difference"] = row["real"] - row["virtual"]
    least = min(abs(low), abs(high)) if low * high > 0 else 0
    row["failed"] = bound is not None and (least if draws.intervals else abs(row["difference"])) > bound
    return row


def show(row):
    bound = f"{row['bound']:5.1f}" if row["bound"] is not None else "    -"
    note = f"   true {row['true']:+.2f}" if "true" in row else ""
    print(f"  {'FAIL' if row['failed'] else '    '} {row['name'][:34]:<34} {row['virtual']:8.2f} {row['real']:8.2f} "
          f"{row['difference']:+8.2f}  [{row['low']:+7.2f} ..{row['high']:+7.2f}] {bound}{note}")


def rows_of(virtual, real, draws):
    rows = [compare(shown, [100 * r[score] for r in virtual], [100 * r[score] for r in real],
                    draws.bound_of(score, bound), draws) for score, shown, bound in SCORES]
    claimed = [[shares(r, "claimed_self_ns") for r in mode] for mode in (virtual, real)]
    true = [[shares(r, "true_self_ns") for r in mode] for mode in (virtual, real)]

    def median_of(mode, name):
        return statistics.median(parts.get(name, 0) for parts in mode)

    names = {name for mode in claimed + true for parts in mode for name in parts}
    largest = sorted(names, key=lambda n: (-max(median_of(mode, n) for mode in claimed + true), n))[:METHODS]
    for name in largest:
        row = compare(name, *([parts.get(name, 0) for parts in mode] for mode in claimed), SHARE_BOUND, draws)
        row["true"] = median_of(true[1], name) - median_of(true[0], name)
        rows.append(row)
    return rows


def calibrate(strobe, path, costs, busy, runs, draws, real_runs):
    cores, own_busy = cores_of(strobe, path)
    options = []
    if cores > os.cpu_count():
        options += ["--cores", str(os.cpu_count())]
    if busy and not own_busy:
        options += ["--busy", str(busy)]
    played, measured = real_runs.play(strobe, path, options, runs)
    real = list(played.values())
    name = os.path.splitext(os.path.basename(path))[0]
    load = busy or own_busy
    if len(real) < runs:
        raise Disturbed(f"{name}, {load} threads beside: more than {runs} runs were disturbed by other "
                        f"processes, {len(real)} were not")
    virtual = []
    for table in measured or [None]:
        options_of_costs = costs.options(table)
        virtual += [play_virtual(strobe, path, int(seed), options + options_of_costs) for seed in played]
    print(f"\n{name}, {f'beside {load} threads' if load else 'quiet'}, {' '.join(options) or 'as it is'}, {runs} runs")
    print(f"       {'':<34} {'virtual':>8} {'real':>8} {'differs':>8}  {'95 %':^20} bound   true shares differ")
    rows = rows_of(virtual, real, draws)
    for row in rows:
        show(row)
    sys.stdout.flush()
    return {"scenario": name, "options": options, "busy": load, "runs": runs, "rows": rows}


def show_medians(done):
    """Prints real mode and virtual time, in percent: the table of bench/README.md."""
    scores = (("agreement, exact", 15), ("agreement, resolved", 17), ("overhead", 17), ("wakers found", 15))
    print("\n    scenario, beside             exact: virt.  real  resolved: virt.  real  overhead: virt.  real"
          "  wakers: virt.  real")
    for d in done:
        rows = {row["name"]: row for row in d["rows"]}
        name = f"{d['scenario']}, " + (f"{d['busy']} threads" if d["busy"] else "nothing")
        print(f"    {name:<27}" + "".join(f"{rows[score]['virtual']:{width}.1f}{rows[score]['real']:6.1f}"
                                         for score, width in scores))


def scenarios(quick):
    names = QUICK if quick else sorted(f[:-4] for f in os.listdir(FIXTURES) if f.endswith(".scn"))
    return [f"{FIXTURES}/{name}.scn" for name in names if name not in TOO_LONG]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("strobe")
    parser.add_argument("scenario", nargs="*")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--quick", action="store_true", help="few scenarios, quiet only, in about two minutes")
    parser.add_argument("--busy", type=int, help=f"threads of the other program ({BUSY_THREADS}); 0: quiet only")
    parser.add_argument("--costs", help="what virtual time charges: a table measured on this machine by `make costs`")
    parser.add_argument("--measure", help="strobe-costs: costs are measured beside the real runs of each scenario")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    parser.add_argument("--keep", help="a file for what the real runs came to")
    parser.add_argument("--again", help="such a file, whose runs are compared again")
    parser.add_argument("-o", "--output", help="a JSON file")
    asked = parser.parse_intermixed_args()
    runs = asked.runs or (5 if asked.quick else 9)
    busy = asked.busy if asked.busy is not None else 0 if asked.quick else BUSY_THREADS
    if asked.measure and (asked.costs or asked.again):
        parser.error("--measure goes with neither --costs nor --again")
    costs = Costs(asked.measure, asked.costs)
    draws = Draws(asked.seed, asked.quick)
    print(f"{runs} runs of each mode; bootstrap with seed {asked.seed}; {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.1f} at the begin")
    done, refused, disturbed = [], [], []
    real_runs = RealRuns(asked.again, costs)
    for load in dict.fromkeys((0, busy)):
        for path in asked.scenario or scenarios(asked.quick):
            try:
                done.append(calibrate(asked.strobe, path, costs, load, runs, draws, real_runs))
            except Refused as e:
                refused.append(f"{path}: {e}")
            except Disturbed as e:
                disturbed.append(str(e))
    costs.close()
    if refused:
        print("\nnot played in both modes:")
        for line in dict.fromkeys(refused):
            print(f"  {line}")
    for line in disturbed:
        print(f"SKIP {line}")
    if asked.output:
        with open(asked.output, "w", encoding="utf-8") as out:
            json.dump(done, out, indent=1)
    if done:
        show_medians(done)
    if asked.keep:
        with open(asked.keep, "w", encoding="utf-8") as out:
            json.dump(real_runs.kept, out)
    checked = [row for d in done for row in d["rows"] if row["bound"] is not None]
    failed = sum(row["failed"] for row in checked)
    print(f"\n{len(checked) - failed} passed, {failed} failed, {len(disturbed)} skipped")
    sys.exit(2 if not checked and not disturbed else failed > 0)


if __name__ == "__main__":
    main()
