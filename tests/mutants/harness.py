"""Runs mutants: known-bad variants of the tree that its tests must kill.

    tests/mutants/run.sh [--all | --sample N [--seed S] | NAME...] [--from FOLDER] [-j JOBS] ...

A mutant is FOLDER/NAME.patch (default folder: tests/mutants/curated): a head of lines `Word: text`, an empty line, and
a diff for `patch -p1`:

    Breaks: S-10, a torn record is accepted
    Killed by: unit/store/test_ring:a_record_comes_back_field_by_field | explore ring/lap
    Invariant: words                               (only for `swarm`: the start of the violation, extended regex)

`Killed by:` lists commands. The harness runs them in order until one fails; the mutant is then killed:

    unit/DIR/test_NAME[:PATTERN]    a CMocka program, or those of its tests whose name matches
    sim/DIR/test_NAME[:PATTERN]     the same for a test of the lab
    explore WORDS               build/strobe-lab explore WORDS
    contract fakeNN MODE CASE   build/contract_art: one case of the contract for Android runtimes
    suite NAME                  tests/NAME/run.sh
    swarm SCENARIO OPTIONS      tests/mutants/swarm: up to 1,000 seeds of `strobe run SCENARIO`

Each command must first pass on the unchanged tree. Each job has a copy of the tree with its objects. For each mutant
the job applies the patch, builds the targets that the commands need, runs the commands and restores its copy. To
restore, it copies the changed files, times included, from a copy that stays unchanged. make then rebuilds only what a
patch touches.

--score P is for mutants drawn at random: the run lists survivors, and passes when P percent were killed. Results are
written to out/mutants/. Exit status: 0 passed, 1 failed, 2 bad use or bad input."""
import argparse
import json
import os
import queue
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HOME = Path.cwd()
BUILT = os.environ.get("B", "build")
# Files and directories of B that a copy of the tree needs, besides *.a.
NEEDED = ("flags", "obj", "sim", "explore", "pic", "tests", "strobe", "strobe-lab", "libstrobe-preload.so",
          "fake", "art", "shadowhook", "libapp.so", "app", "contract_art", "libstrobe-art.so", "cutils", "virtual",
          "planted", "guarded", "libstrobe-app.so", "libcontract-native.so")
MEGABYTE = 1 << 20
PATIENCE_TIMES = 5  # time limit of a command: this times its time on the unchanged tree, plus --patience seconds
SWARM_SECONDS = 500  # time limit of tests/mutants/swarm


def complain(text):
    print(f"tests/mutants: {text}", file=sys.stderr)
    sys.exit(2)


class Mutant:
    """A patch and its head."""

    def __init__(self, path):
        self.path, self.name, self.invariant = path, path.stem, None
        self.verdict = self.by = self.said = ""
        self.seconds = 0.0
        words = {"Breaks": "breaks", "Killed by": "commands", "Invariant": "invariant"}
        self.breaks = self.commands = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line:
                break
            word, colon, text = line.partition(": ")
            if not colon or word not in words or not text.strip():
                complain(f"{path}:{number}: expected one of `{': `, `'.join(words)}: ` and a text")
            setattr(self, words[word], text.strip())
        if not self.breaks or not self.commands:
            complain(f"{path}:1: expected `Breaks: ` and `Killed by: `, then an empty line")
        self.commands = [Command(text.strip(), self) for text in self.commands.split(" | ")]


class Command:
    """A command that may kill a mutant."""

    def __init__(self, text, mutant):
        self.text = text
        kind, _, rest = text.partition(" ")
        self.kind = kind
        test = re.fullmatch(r"((?:unit|sim)/\w+/test_\w+)(?::([\w*?]+))?", text)
        self.environment = {}
        self.counted = r"PASSED  \] [1-9]" if test else None  # output that shows that it ran a test
        self.beside = []  # targets that it needs and that no mutant changes
        if test:
            self.target = f"{BUILT}/tests/{test[1]}"
            self.line = self.baseline_line = [self.target]
            if test[2]:
                self.environment["STROBE_TEST_ONLY"] = test[2]
        elif kind == "explore" and rest:
            self.target = f"{BUILT}/strobe-lab"
            self.line = self.baseline_line = [self.target, "explore", *shlex.split(rest)]
        elif kind == "contract" and re.fullmatch(r"fake\d\d \w+ \w+", rest):
            self.target = f"{BUILT}/contract_art"
            self.beside = [f"{BUILT}/art/{rest[4:6]}/libart.so", f"{BUILT}/libcontract-native.so"]
            self.line = self.baseline_line = [self.target, *rest.split()]
            self.environment["B"] = BUILT
            self.counted = r"^[1-9]\d* passed"
        elif kind == "suite" and re.fullmatch(r"\w+", rest):
            self.target = "all"
            self.line = self.baseline_line = [f"tests/{rest}/run.sh"]
            self.environment["B"] = BUILT
        elif kind == "swarm" and rest and mutant.invariant:
            self.target = f"{BUILT}/strobe-lab"
            self.baseline_line = [self.target, "run", *shlex.split(rest), "--seeds", "1..5", "-o", "swarm-out", "-f"]
            self.line = ["tests/mutants/swarm", self.target, "BASE", mutant.invariant, *shlex.split(rest)]
        else:
            complain(f"{mutant.path}: `{text}`: expected unit/DIR/test_NAME, sim/DIR/test_NAME, `explore WORDS`,"
                     " `contract fakeNN MODE CASE`, `suite NAME`, or `swarm SCENARIO OPTIONS` with an `Invariant: `")


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
            built = [p for p in (HOME / BUILT).iterdir() if p.name in NEEDED or p.suffix == ".a"]
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
    """Limits the resources of a command, because a mutant may use memory or disk without bound."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * MEGABYTE, 1024 * MEGABYTE))
    resource.setrlimit(resource.RLIMIT_DATA, (12288 * MEGABYTE, 12288 * MEGABYTE))


def child_environment(more=None):
    """Environment of a command: make runs one job and installs nothing, and random tests use one seed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "B", "STROBE_TEST_ONLY")}
    return {**kept, "MAKELEVEL": "1", "STROBE_DEPS": "check", "SEED": "1", **(more or {})}


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
        status, said, seconds = self.tree.run(command.baseline_line, 120, command.environment)
        if status is None:
            return f"`{command.text}` takes more than 120 s on the unchanged tree", seconds
        if status:
            return f"`{command.text}` fails on the unchanged tree:\n{said[-1000:]}", seconds
        if command.counted and not re.search(command.counted, said, re.MULTILINE):
            return f"`{command.text}` runs no test", seconds
        return "", seconds


def judge(mutant, tree, baseline, patience):
    """Sets the mutant's verdict: killed, SURVIVED, or the reason why it could not be judged."""
    status, said, _ = tree.run(["patch", "-p1", "-F0", "-s", "-i", str(mutant.path.resolve())], 20)
    if status:
        mutant.verdict, mutant.said = "DOES NOT APPLY", said
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


def work(tree, waiting, baseline, table, patience):
    while True:
        try:
            mutant = waiting.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        tree.restore()
        judge(mutant, tree, baseline, patience)
        mutant.seconds = time.monotonic() - began
        table.update()


def run_all(mutants, jobs, patience):
    """Judges all mutants. Removes the copies of the tree in any case."""
    commands = [command for mutant in mutants for command in mutant.commands]
    targets = sorted({target for command in commands for target in (command.target, *command.beside)})
    done = subprocess.run(["make", "-s", f"B={BUILT}", *targets], env={k: v for k, v in os.environ.items()
                          if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        complain(f"the unchanged tree does not build:\n{done.stdout[-3000:]}")
    folder = Path(tempfile.mkdtemp(prefix="strobe-mutants-"))
    trees, threads = [], []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        pristine = Tree(folder / "pristine")
        names = ["baseline", *(f"job{i}" for i in range(min(jobs, len(mutants))))]
        trees = [Tree(folder / name, pristine) for name in names]
        waiting, baseline, table = queue.Queue(), Baseline(trees[0]), Table(mutants)
        for mutant in mutants:
            waiting.put(mutant)
        threads = [threading.Thread(target=work, args=(t, waiting, baseline, table, patience), daemon=True)
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
    parser.add_argument("--from", dest="folder", type=Path, default=Path("tests/mutants/curated"))
    parser.add_argument("--score", type=float)
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, default=10)
    return parser.parse_args(arguments)


def choose(options):
    found = {p.stem: p for p in sorted(options.folder.glob("*.patch"))}
    names = options.names or sorted(found)
    if options.sample is not None:
        names = sorted(random.Random(options.seed).sample(names, min(options.sample, len(names))))
    for name in names:
        if name not in found:
            complain(f"no such mutant: {options.folder}/{name}.patch")
    if not names:
        complain(f"{options.folder}: expected at least one .patch")
    return [Mutant(found[name]) for name in names]


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


def changed_lines(path):
    return [line for line in path.read_text().split("\n\n", 1)[1].splitlines()
            if line[:1] in "-+" and not re.match(r"(---|\+\+\+) [ab]/", line)]


def report_score(mutants, least):
    """Prints the totals of a run of random mutants. A mutant that could not be judged counts as a survivor."""
    survivors = [m for m in mutants if m.verdict != "killed"]
    if survivors:
        print("\nsurvivors")
    for mutant in survivors:
        print(f"  {mutant.breaks}" + (f"  ({mutant.verdict.lower()})" if mutant.verdict != "SURVIVED" else ""))
        print("".join(f"    {line}\n" for line in changed_lines(mutant.path)), end="")
    killed, count = len(mutants) - len(survivors), len(mutants)
    keep("random", killed, count)
    print(f"\ncurated: {kept('curated')}\nrandom:  {kept('random')}, at least {least:g} % wanted")
    return percent(killed, count) >= least


def main():
    options = parse(sys.argv[1:])
    if os.path.isabs(BUILT):
        complain("B: expected a folder of this tree, as a relative path")
    if options.jobs < 1:
        complain("-j: expected at least 1")
    mutants = choose(options)
    began = time.monotonic()
    run_all(mutants, options.jobs, options.patience)
    killed = sum(m.verdict == "killed" for m in mutants)
    spent = time.monotonic() - began
    work_seconds = sum(m.seconds for m in mutants)
    print(f"{len(mutants)} mutants in {spent:.0f} s, {work_seconds / len(mutants):.1f} s of one job each")
    if options.score is not None:
        fine = report_score(mutants, options.score)
        print(f"{int(fine)} passed, {int(not fine)} failed")
    else:
        if options.all:
            keep("curated", killed, len(mutants))
        fine = killed == len(mutants)
        for mutant in mutants:
            if mutant.verdict != "killed":
                print(f"repeat with: tests/mutants/run.sh --from {options.folder} {mutant.name}")
        print(f"{killed} passed, {len(mutants) - killed} failed")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
