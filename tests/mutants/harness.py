"""Runs mutants: known-bad variants of the tree that its tests must kill.

    tests/mutants/run.sh [--all | --sample N [--seed S] | --changed BASE | NAME...] [--shard I/N] [--from PLACE] ...

A mutant is a row of a table: PLACE is a table, or a folder of tables (default: tests/mutants/curated). table.py
describes rows, commands.py the commands that `Killed by:` lists. The harness runs these in order until one fails; the
mutant is then killed. Each command must first pass on the unchanged tree.

--changed BASE selects the rows whose text, file or killer differs from commit BASE (changed.py). After --seconds N the
harness begins no further mutant, and lists those that it left for later. --shard I/N selects each N-th row.

Each job has a copy of the tree with its objects. For each mutant the job changes the files, builds the targets that the
commands need, runs the commands and restores its copy. To restore, it copies the changed files, times included, from a
copy that stays unchanged. make then rebuilds only what a mutant touches.

--score P is for mutants drawn at random: the run lists survivors and the score of each directory, and passes when P
percent were killed. Results are written to out/mutants/. Exit status: 0 passed, 1 failed, 2 bad use or bad input."""
import argparse
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import changed
from commands import BUILT, commands_of
from table import Fault, read_tables

HOME = Path.cwd()
# Files and directories of B that a copy of the tree needs, besides *.a and *.so.
NEEDED = ("flags", "haste", "obj", "sim", "explore", "pic", "tests", "strobe", "strobe-lab", "strobe-player",
          "strobe-player-mach", "strobe-player-virtual", "strobe-player-virtual-mach", "fake", "art", "shadowhook", "app",
          "contract_art", "cutils", "virtual", "machplay", "attach", "planted", "guarded")
MEGABYTE = 1 << 20
PATIENCE_TIMES = 5  # time limit of a command: this times its time on the unchanged tree, plus --patience seconds
TEST_SECONDS, SUITE_SECONDS = 120, 400  # time limit of a command on the unchanged tree
SWARM_SECONDS = 500  # time limit of tests/mutants/swarm


def complain(text):
    print(f"tests/mutants: {text}", file=sys.stderr)
    sys.exit(2)


class Mutant:
    """A row of a table, its commands and its verdict."""

    def __init__(self, row):
        self.row, self.name, self.breaks, self.commands = row, row.name, row.breaks, commands_of(row)
        self.verdict = self.by = self.said = ""
        self.seconds = 0.0

    def apply(self, folder):
        for path, text in self.row.mutate(folder).items():
            (folder / path).write_text(text)

    @property
    def directory(self):
        return os.path.dirname(self.row.paths[0])


class Tree:
    """A copy of the tree and of its build output. restore() undoes all changes."""

    def __init__(self, folder, pristine=None):
        self.folder, self.pristine = folder, pristine
        self.processes, self.closed = set(), False
        if pristine:
            run(["cp", "-a", "--reflink=auto", pristine.folder, folder])
        else:
            folder.mkdir()
            kept = [p for p in sorted(HOME.iterdir()) if not re.match(r"build|out$|\.git$|.*\.strobe$", p.name)]
            run(["cp", "-a", "--reflink=auto", *kept, folder])
            built = [p for p in (HOME / BUILT).iterdir() if p.name in NEEDED or p.suffix in (".a", ".so")]
            (folder / BUILT).mkdir()
            run(["cp", "-a", "--reflink=auto", *built, folder / BUILT])
        self.files = pristine.files if pristine else dict(self.now())

    def now(self):
        """Yields the path of each file in the tree, and values that change whenever the file does."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                yield os.path.relpath(path, self.folder), (status.st_mtime_ns, status.st_size, status.st_mode)

    def restore(self):
        found = dict(self.now())
        for path in found.keys() - self.files.keys():
            os.unlink(self.folder / path)
        for path, mark in self.files.items():
            if found.get(path) != mark:
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / path).unlink(missing_ok=True)
                shutil.copy2(self.pristine.folder / path, self.folder / path, follow_symlinks=False)

    def run(self, line, limit_seconds, environment=None):
        """Runs a command in the tree. Returns its exit status (None when it took too long), output and seconds."""
        if self.closed:
            sys.exit()
        log = self.folder / f"said-{threading.get_ident()}.log"
        began = time.monotonic()
        with open(log, "wb") as out:
            process = subprocess.Popen(
                line, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=bounds, env=child_environment(environment))
            self.processes.add(process)
            try:
                status = process.wait(limit_seconds)
            except subprocess.TimeoutExpired:
                status = None
            kill(process)
            self.processes.discard(process)
        text = log.read_bytes()[-20000:].decode("utf-8", "replace")
        return status, text, time.monotonic() - began

    def close(self):
        self.closed = True
        for process in list(self.processes):
            kill(process)


def kill(process):
    """Kills the process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def bounds():
    """Limits the resources of a command, because a mutant may use memory or disk without bound. A test whose program
    reserves terabytes of addresses for a sanitizer raises the soft limit of memory again."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096 * MEGABYTE, 4096 * MEGABYTE))  # a test needs 3 GiB
    resource.setrlimit(resource.RLIMIT_DATA, (12288 * MEGABYTE, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def child_environment(more=None):
    """Environment of a command: make runs one job and installs nothing, and random tests use one seed."""
    kept = {k: v for k, v in make_environment().items() if k not in ("B", "STROBE_TEST_ONLY")}
    return {**kept, "MAKELEVEL": "1", "STROBE_DEPS": "check", "SEED": "1", **(more or {})}


def make_environment():
    """Environment of make: it optimizes as B was built, so that it rebuilds only what changed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    haste = HOME / BUILT / "haste"
    return {**kept, "HASTE": haste.read_text().strip()} if haste.exists() else kept


def run(line):
    done = subprocess.run([str(word) for word in line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        complain(f"{line[0]} failed: {done.stdout.strip()[-2000:]}")


def build(tree, target):
    return tree.run(["make", "-s", f"B={BUILT}", target], 300)


class Baseline:
    """The result of each command on the unchanged tree, in a separate copy. The job that needs a result first runs the
    command."""

    def __init__(self, tree):
        self.tree, self.lock, self.done = tree, threading.Lock(), {}

    def of(self, command):
        """Returns a pair: the fault or "", and the seconds that the command took."""
        with self.lock:
            known = self.done.setdefault(command.text, {"lock": threading.Lock()})
        with known["lock"]:
            if "result" not in known:
                known["result"] = self.run(command)
        return known["result"]

    def run(self, command):
        status, said, seconds = build(self.tree, command.target)
        if status != 0:
            return f"`{command.text}` does not build on the unchanged tree:\n{said[-1000:]}", seconds
        limit = SUITE_SECONDS if command.kind == "suite" else TEST_SECONDS
        status, said, seconds = self.tree.run(command.baseline_line, limit, command.environment)
        if status is None:
            return f"`{command.text}` takes more than {limit} s on the unchanged tree", seconds
        if status:
            return f"`{command.text}` fails on the unchanged tree:\n{said[-1000:]}", seconds
        if command.counted and not re.search(command.counted, said, re.MULTILINE):
            return f"`{command.text}` runs no test", seconds
        return "", seconds


def judge(mutant, tree, baseline, patience):
    """Sets the mutant's verdict: killed, SURVIVED, or the reason why it could not be judged."""
    try:
        mutant.apply(tree.folder)
    except Fault as fault:
        mutant.verdict, mutant.said = "DOES NOT APPLY", str(fault)
        return
    for command in mutant.commands:
        wrong, seconds = baseline.of(command)
        if wrong:
            mutant.verdict, mutant.said = "NO BASELINE", wrong
            return
        status, said, _ = build(tree, command.target)
        if status != 0:
            mutant.verdict, mutant.said = "DOES NOT BUILD", said
            return
        line = [str(tree.pristine.folder / BUILT / "strobe-lab") if word == "BASE" else word for word in command.line]
        limit = SWARM_SECONDS if command.kind == "swarm" else patience + PATIENCE_TIMES * seconds
        status, said, _ = tree.run(line, limit, command.environment)
        if status not in (0, 1) and command.kind == "swarm":
            mutant.verdict, mutant.said = "FOUND BADLY", said
            return
        if status != 0:
            mutant.verdict, mutant.by = "killed", command.text + (" (time)" if status is None else "")
            return
    mutant.verdict = "SURVIVED"


class Table:
    """Prints results in the order of the mutants as soon as they are known, and a progress bar on a terminal."""

    def __init__(self, mutants):
        self.mutants, self.next, self.said = mutants, 0, {""}
        self.began, self.lock = time.monotonic(), threading.Lock()
        self.bar = sys.stderr.isatty()
        self.width = max([len(m.name) for m in mutants] + [6])
        print(f"{'mutant':{self.width}}  {'breaks':40}  {'killed by':34}  {'verdict':14} seconds", flush=True)

    def show(self, mutant):
        by = mutant.by or " | ".join(c.text for c in mutant.commands)
        print(f"{mutant.name:{self.width}}  {short(mutant.breaks, 40):40}  {short(by, 34):34}  {mutant.verdict:14}"
              f" {mutant.seconds:7.1f}", flush=True)
        if mutant.verdict != "killed" and mutant.said not in self.said:
            self.said.add(mutant.said)
            print("".join(f"    | {line}\n" for line in mutant.said.strip().splitlines()[-30:]), end="", flush=True)

    def update(self):
        with self.lock:
            self.clear()
            while self.next < len(self.mutants) and self.mutants[self.next].verdict:
                self.show(self.mutants[self.next])
                self.next += 1
            self.draw()

    def draw(self):
        if self.bar:
            done, count = sum(bool(m.verdict) for m in self.mutants), len(self.mutants)
            alive = sum(m.verdict not in ("", "killed") for m in self.mutants)
            spent = time.monotonic() - self.began
            left = f", {spent / done * (count - done):.0f} s left" if done else ""
            print(f"\r[{'#' * (30 * done // count):30}] {done}/{count}, {alive} not killed, {spent:.0f} s{left} ",
                  end="", file=sys.stderr, flush=True)

    def clear(self):
        if self.bar:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def short(text, width):
    return text if len(text) <= width else text[:width - 2] + ".."


def work(tree, waiting, baseline, table, options):
    while options.seconds is None or time.monotonic() - options.began < options.seconds:
        try:
            mutant = waiting.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        tree.restore()
        judge(mutant, tree, baseline, options.patience)
        mutant.seconds = time.monotonic() - began
        table.update()


def run_all(mutants, options):
    """Judges all mutants. Removes the copies of the tree in any case."""
    commands = [command for mutant in mutants for command in mutant.commands]
    targets = sorted({target for command in commands for target in (command.target, *command.beside)})
    done = subprocess.run(["make", "-s", f"B={BUILT}", *targets], env=make_environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        complain(f"the unchanged tree does not build:\n{done.stdout[-3000:]}")
    folder = Path(tempfile.mkdtemp(prefix="strobe-mutants-"))
    trees, threads = [], []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        pristine = Tree(folder / "pristine")
        names = ["baseline", *(f"job{i}" for i in range(min(options.jobs, len(mutants))))]
        trees = [Tree(folder / name, pristine) for name in names]
        waiting, baseline, table = queue.Queue(), Baseline(trees[0]), Table(mutants)
        for mutant in mutants:
            waiting.put(mutant)
        threads = [threading.Thread(target=work, args=(t, waiting, baseline, table, options), daemon=True)
                   for t in trees[1:]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        table.clear()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for tree in trees:
            tree.close()
        for thread in threads:
            if thread.is_alive():
                thread.join(10)
        shutil.rmtree(folder, ignore_errors=True)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--changed", metavar="BASE", nargs="?", const="")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--shard")
    parser.add_argument("--from", dest="place", type=Path, default=Path("tests/mutants/curated"))
    parser.add_argument("--score", type=float)
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, default=10)
    options = parser.parse_args(arguments)
    options.began = time.monotonic()
    return options


def choose(options):
    """Returns the rows to run, the most important first."""
    rows = sorted(read_tables(options.place), key=lambda row: row.name)
    found = {row.name: row for row in rows}
    for name in options.names:
        if name not in found:
            complain(f"{options.place}: expected a mutant {name}")
    if not rows:
        complain(f"{options.place}: expected at least one mutant")
    if options.names:
        rows = [found[name] for name in options.names]
    if options.changed is not None:
        rows = changed.rows_since(rows, options.changed)
    if options.sample is not None:
        rows = random.Random(options.seed).sample(rows, min(options.sample, len(rows)))
    return in_shard(rows, options.shard)


def in_shard(rows, shard):
    """Returns each N-th of the rows, for a shard `I/N`. Every row is in exactly one of the N shards."""
    if shard is None:
        return rows
    part = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", shard)
    if not part or int(part[1]) > int(part[2]):
        complain(f"--shard {shard}: expected I/N with 1 <= I <= N")
    return rows[int(part[1]) - 1::int(part[2])]


def percent(killed, count):
    return 100.0 * killed / count if count else 100.0


def keep(name, killed, count):
    """Stores the score, so that a run with --score prints the scores of curated and random mutants."""
    folder = HOME / "out" / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"killed": killed, "of": count}) + "\n")


def kept(name):
    try:
        score = json.loads((HOME / "out" / "mutants" / f"{name}.json").read_text())
        return f"{score['killed']} of {score['of']} killed ({percent(score['killed'], score['of']):.1f} %)"
    except OSError:
        return "not run"


def print_directories(mutants):
    """Prints the score of each directory."""
    of = defaultdict(list)
    for mutant in mutants:
        of[mutant.directory].append(mutant.verdict == "killed")
    print(f"\n{'directory':32} {'killed':>6} {'of':>4}  score")
    for directory, verdicts in sorted(of.items()):
        killed, count = sum(verdicts), len(verdicts)
        print(f"{directory:32} {killed:6} {count:4}  {percent(killed, count):5.1f} %")


def report_score(mutants, least):
    """Prints the totals of a run of random mutants. A mutant that could not be judged counts as a survivor."""
    survivors = [m for m in mutants if m.verdict != "killed"]
    if survivors:
        print("\nsurvivors")
    for mutant in survivors:
        print(f"  {mutant.breaks}" + (f"  ({mutant.verdict.lower()})" if mutant.verdict != "SURVIVED" else ""))
        print("".join(f"    {line}\n" for change in mutant.row.changes for line in change.text().splitlines()), end="")
    print_directories(mutants)
    killed, count = len(mutants) - len(survivors), len(mutants)
    keep("random", killed, count)
    print(f"\ncurated: {kept('curated')}\nrandom:  {kept('random')}, at least {least:g} % wanted")
    return percent(killed, count) >= least


def report_verdicts(mutants, options):
    """Prints the totals of a run of curated mutants. Returns true when all are killed, but for those left for later."""
    later = [m for m in mutants if not m.verdict]
    judged = [m for m in mutants if m.verdict]
    alive = [m for m in judged if m.verdict != "killed"]
    if later:
        print(f"left for later after {options.seconds:g} s, {len(later)}: {' '.join(m.name for m in later)}")
    place = f"--from {options.place} " if options.place != Path("tests/mutants/curated") else ""
    for mutant in alive:
        print(f"repeat with: tests/mutants/run.sh {place}{mutant.name}")
    if options.all:
        print_directories(mutants)
        if not options.shard:
            keep("curated", len(judged) - len(alive), len(mutants))
    print(f"{len(judged) - len(alive)} passed, {len(alive)} failed")
    return not alive


def main():
    options = parse(sys.argv[1:])
    if os.path.isabs(BUILT):
        complain("B: expected a folder of this tree, as a relative path")
    if options.jobs < 1:
        complain("-j: expected at least 1")
    try:
        mutants = [Mutant(row) for row in choose(options)]
    except Fault as fault:
        complain(fault)
    if not mutants:
        print("0 passed, 0 failed, 1 skipped")
        return
    run_all(mutants, options)
    spent = time.monotonic() - options.began
    judged = [m for m in mutants if m.verdict]
    print(f"{len(judged)} mutants in {spent:.0f} s, {sum(m.seconds for m in judged) / max(1, len(judged)):.1f} s of one"
          " job each")
    if options.score is not None:
        fine = report_score(mutants, options.score)
        print(f"{int(fine)} passed, {int(not fine)} failed")
    else:
        fine = report_verdicts(mutants, options)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
