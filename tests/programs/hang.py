"""Records each program that has a `hang` line in tests/programs/table, --jobs at a time, by turns with --unwind auto,
dwarf, fp, and auto with --follow. Makes ROUNDS recordings in total. Counts for each program:

    hangs    recordings that have not ended after 25 s, or after 15 times the duration of a bare run without other load
    wrong    recordings that have ended with other output or another exit status than the bare run
    open     recordings whose session is not closed or whose accounting is inconsistent

A program passes when all three are 0. After three hangs it is not recorded again. The stacks of the first hang are kept
in out/programs/hang."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playing import Mode, Player, end_on_signals, patience_for, sessions_in
from suite import choose
from table import read_table

KEPT = Path("out/programs/hang")
MODES = [Mode(name) for name in ("auto-1ms", "dwarf-1ms", "fp-1ms", "auto-1ms-follow")]
ENOUGH_HANGS = 3


class Count:
    """The counts of one program; `problem`: the first fault."""

    def __init__(self, bare):
        self.bare = bare
        self.rounds = self.hangs = self.wrong = self.open = 0
        self.problem = None
        self.lock = threading.Lock()


def is_closed(player, folder):
    sessions = sessions_in(folder)
    for session in sessions:
        done = subprocess.run([player.strobe, "report", "--json", "--top", "1", str(session)], capture_output=True,
                              text=True, errors="replace", check=False)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return False
        consistent = report.get("balanced", report.get("events", {}).get("balanced", report.get("consistent")))
        if not report.get("closed") or consistent is not True:
            return False
    return bool(sessions)


def record_once(player, program, count, number):
    with count.lock:
        if count.hangs >= ENOUGH_HANGS:
            return
    mode = MODES[number % len(MODES)]
    with tempfile.TemporaryDirectory(dir=player.work) as folder:
        folder = Path(folder) / "run"
        run = player.run(program, program.hang, folder, player.record_words(mode, folder), False,
                         patience_for(count.bare), KEPT / f"{program.name}.{number}.txt")
        closed = run.ended and is_closed(player, folder)
    bare = count.bare
    same = (run.out, run.err, run.status) == (bare.out, bare.err, bare.status)
    with count.lock:
        count.rounds += 1
        count.hangs += not run.ended
        count.wrong += run.ended and not same
        count.open += run.ended and same and not closed
        if not (run.ended and same and closed) and not count.problem:
            count.problem = (f"{mode.name}: " + (f"has not ended; stacks: {run.stacks}" if not run.ended else
                             "the session is not closed, or its accounting inconsistent" if same else
                             f"status {run.status}, bare {bare.status}; {run.out[:60]!r}, bare {bare.out[:60]!r}; "
                             f"stderr {run.err[-200:]!r}"))


def play_program(player, program, rounds, jobs):
    """Returns True when the program passes, or None when it cannot be played."""
    package = program.missing_package()
    if package:
        print(f"SKIP {program.name}: package {package} is missing (ci/deps programs)")
        return None
    problem = player.build(program)
    bare = None if problem else player.run(program, program.hang, player.work / "bare")
    if problem or not bare.ended:
        print(f"FAIL {program.name}: {problem or 'the bare run has not ended'}")
        return False
    count = Count(bare)
    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(record_once, player, program, count, number) for number in range(rounds)]:
            done.result()
    good = not count.hangs + count.wrong + count.open
    print(f"{program.name:19} {count.rounds:6} {count.hangs:6} {count.wrong:6} {count.open:6}  {'pass' if good else 'FAIL'}",
          flush=True)
    if not good:
        print(f"    {count.problem}\nFAIL {program.name}; again: tests/programs/hang.sh {rounds} --only {program.name}",
              flush=True)
    return good


def main():
    end_on_signals()
    parser = argparse.ArgumentParser(prog="tests/programs/hang.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", metavar="ROUNDS", type=int, help="recordings in all")
    parser.add_argument("--only", metavar="NAME,...", help="these programs")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count(), help="recordings at a time (two a processor)")
    options = parser.parse_args()
    programs = [program for program in choose(read_table(), options.only) if program.hang]
    if options.rounds < 1 or options.jobs < 1 or not programs:
        parser.error("expected 1 or more rounds, jobs and programs with a `hang` line")
    each = -(-options.rounds // len(programs))
    print(f"{'program':19} {'rounds':>6} {'hangs':>6} {'wrong':>6} {'open':>6}")
    with tempfile.TemporaryDirectory(prefix="strobe-programs-") as work:
        player = Player(os.environ.get("B", "build"), work)
        verdicts = [play_program(player, program, each, options.jobs) for program in programs]
    failed = verdicts.count(False)
    print(f"{verdicts.count(True)} passed, {failed} failed, {verdicts.count(None)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
