#!/usr/bin/env python3
"""Compares this tree with another commit: both are built with the same compiler and flags, run the same drivers, and
need the same instructions, bytes, memory and allocations, within a tolerance.

    B=DIR bench/gate/base.py COMMIT [--tolerance PERCENT] [--rows NAME,NAME] [--built DIR]

`make gate BASE=COMMIT` calls it. COMMIT is built in a temporary git worktree, which is removed at the end and on a
signal. Variables of `make` (CC, CFLAGS, HASTE, ...) apply to both builds.

  --tolerance PERCENT   growth that is allowed (1)
  --rows NAME,...       measure only these rows (rows.py)
  --built DIR           build nothing: DIR is the build directory of COMMIT, and B that of this tree, as it is

A commit message accepts a growth by a line `Gate: NAME +3% REASON` in its last paragraph. NAME is a row of the table,
or ROW:FIGURE. Lines of all commits after COMMIT count.

Exit status: 0 nothing grew, 1 a figure grew or a driver is gone, 2 the comparison was not possible."""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import compare
import measure
import rows

HOME = rows.HOME


def die(text):
    print(f"gate: {text}", file=sys.stderr)
    sys.exit(2)


def git(*words):
    return subprocess.run(["git", "-C", HOME, *words], capture_output=True, text=True)


def check_machine():
    for tool, package in (("valgrind", "valgrind"), ("git", "git")):
        if not shutil.which(tool):
            die(f"{tool} is not installed: sudo apt-get install {package}")


def find_commit(name):
    found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found.returncode:
        die(f"BASE={name}: expected a commit of this repository")
    return found.stdout.strip()


def check_clean():
    """The tree must be exactly HEAD, because the result and the `Gate:` lines are of commits."""
    changed = git("status", "--porcelain").stdout.splitlines()
    if changed:
        die(f"the tree has {len(changed)} changes that are not committed, such as {changed[0][3:]}: commit them first")


class Worktree:
    """A git worktree of a commit in a temporary directory."""

    def __init__(self, commit, folder):
        self.path = os.path.join(folder, "base")
        added = git("worktree", "add", "--detach", "--quiet", self.path, commit)
        if added.returncode:
            die(f"git worktree: {added.stderr.strip()}")

    def remove(self):
        git("worktree", "remove", "--force", self.path)
        git("worktree", "prune")


def make(processes, tree, build, words):
    """Runs make with the variables of the make that started the gate, but with jobs of its own."""
    flags = re.sub(r"(^| )(-j\d*|--jobserver-\S+)", "", os.environ.get("MAKEFLAGS", ""))
    command = ["make", f"-j{os.cpu_count()}", "--no-print-directory", "-C", tree, f"B={build}", *words]
    return processes.run(command, {**os.environ, "MAKEFLAGS": flags})


def has_rule(processes, tree, build, target):
    status, said = make(processes, tree, build, ["-n", f"{build}/{target}"])
    return status == 0 or "No rule to make target" not in said


def build_tree(processes, tree, build, name, log):
    """Builds what the rows need and the tree can build. Returns the build directory."""
    targets = [t for t in rows.TARGETS if has_rule(processes, tree, build, t)]
    status, said = make(processes, tree, build, [f"{build}/{t}" for t in targets])
    if status:
        with open(log, "w") as file:
            file.write(said)
        die(f"{name} does not build; the output is in {log}")
    return os.path.join(tree, build)


def flags_of(build):
    try:
        with open(os.path.join(build, "flags")) as file:
            return file.read().strip()
    except OSError:
        return ""


def rows_of(build, environment, wanted):
    """Returns the rows that a build can run, by name."""
    found = {row.name: row for row in rows.mode_rows(build, environment) + rows.COMMANDS
             if all(os.path.exists(os.path.join(build, t)) for t in row.targets)}
    return {name: row for name, row in found.items() if not wanted or name in wanted}


def copy_programs(build, folder):
    """Copies what rows run. Paths have the same length in both trees then, because the engine reads /proc/self/maps."""
    for target in rows.TARGETS + list(rows.LOADED):
        copy = os.path.join(folder, "build", target)
        if os.path.exists(os.path.join(build, target)):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(os.path.join(build, target), copy)
    return os.path.join(folder, "build")


def measure_trees(builds, found, folder, environment, processes):
    """Returns the measurements of each tree, by row. Rows of both trees run side by side, one on each processor."""
    inputs = os.path.join(folder, "inputs")
    os.mkdir(inputs)
    rows.unpack_inputs(inputs)
    meters = []
    for number, build in enumerate(builds):
        work = os.path.join(folder, f"tree{number}")
        os.mkdir(work)
        meters.append(measure.Meter(copy_programs(build, work), work, inputs, environment, processes))
    results = [{}, {}]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(meter.measure, row): (tree, row.name)
                for tree, meter in enumerate(meters) for row in found[tree].values()}
        for job in concurrent.futures.as_completed(jobs):
            tree, name = jobs[job]
            try:
                results[tree][name] = job.result()
            except measure.Failure as failure:
                if tree == 1 or processes.ended:
                    processes.end_all()
                    pool.shutdown(wait=False, cancel_futures=True)
                    die(str(failure))
                print(f"gate: COMMIT cannot run {failure}")
    return results


def check_directories(measured):
    """Prints the directories of the capture half that no row runs. Returns how many there are."""
    run = {directory for m in measured.values() for directory, _ in m.counts}
    missing = sorted(rows.capture_directories() - run - set(rows.NOT_DRIVEN))
    for directory in missing:
        print(f"gate: no driver runs {directory}: add one to bench/gate/rows.py")
    return len(missing)


def report(old, new, accepted, tolerance, whole):
    """Prints the table. Returns the exit status."""
    table = compare.Table(tolerance, accepted)
    print(compare.COLUMNS.format("row, figure", "BASE", "this tree", "change", "").rstrip())
    for name in new:
        if name in old:
            table.row(name, old[name], new[name])
        else:
            print(compare.COLUMNS.format(name, "", f"{sum(new[name].counts.values()):,}", "new", ""))
    for name in sorted(set(old) - set(new)):
        table.lost(name)
    for name in accepted.unused():
        print(f"gate: not needed: the commits accept a growth of {name}")
    missing = check_directories(new) if whole else 0
    if table.suggested:
        print("gate: to accept a growth, give its reason at the end of the commit's message:")
        print("\n".join(f"    {line}" for line in table.suggested))
    failed = len(table.grown) + missing
    print(f"{table.passed} passed, {failed} failed")
    return 1 if failed else 0


def compare_builds(options, builds, folder, processes, accepted):
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TMPDIR": folder}
    wanted = set(options.rows.split(",")) if options.rows else set()
    try:
        found = [rows_of(build, environment, wanted) for build in builds]
    except (OSError, RuntimeError) as e:
        die(str(e))
    unknown = wanted - set(found[1])
    if unknown:
        die(f"--rows: no such row: {', '.join(sorted(unknown))}")
    if flags_of(builds[0]) != flags_of(builds[1]):
        print("gate: the two trees choose other compiler flags; the figures include that")
    old, new = measure_trees(builds, found, folder, environment, processes)
    order = [name for name in found[1] if name in new]
    return report(old, {n: new[n] for n in order}, accepted, options.tolerance, not wanted)


def interrupted(number, _):
    raise KeyboardInterrupt(number)


def run(options, commit, accepted):
    folder = tempfile.mkdtemp(prefix="strobe-gate-")
    processes, worktree = measure.Processes(), None
    try:
        if options.built:
            builds = [os.path.abspath(options.built), os.path.abspath(options.build)]
        else:
            worktree = Worktree(commit, folder)
            os.makedirs("out", exist_ok=True)
            builds = [build_tree(processes, worktree.path, "build", f"BASE={options.commit}", "out/gate-base.log"),
                      build_tree(processes, HOME, options.build, "this tree", "out/gate-head.log")]
        return compare_builds(options, builds, folder, processes, accepted)
    except KeyboardInterrupt as signalled:
        print("gate: interrupted", file=sys.stderr)
        return 128 + (signalled.args[0] if signalled.args else signal.SIGINT)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        processes.end_all()
        if worktree:
            worktree.remove()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("commit")
    p.add_argument("--tolerance", type=float, default=1.0)
    p.add_argument("--rows")
    p.add_argument("--built")
    options = p.parse_args()
    options.build = os.environ.get("B", "build")
    check_machine()
    commit = find_commit(options.commit)
    if not options.built:
        check_clean()
    try:
        accepted = compare.read_acceptances(HOME, commit)
    except compare.BadTrailer as e:
        die(str(e))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    return run(options, commit, accepted)


sys.exit(main())
