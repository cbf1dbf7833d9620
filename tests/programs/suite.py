"""Records the programs of tests/programs/table in several modes and judges each row:

    end     the recorded program and all its children end within 25 s, or within 15 times the duration of the bare run
    out     stdout, stderr and exit status are those of the bare run (`same` in the table may limit this)
    acc     each session is closed, or its program has exited without the C library. `strobe report` finds the
            accounting consistent, and the number of threads that the table states
    cpu     CPU time, user and system, of the whole process tree under `strobe record`, divided by that of the bare run:
            the median of pairs of adjacent runs, one of each kind. Limits: 1.05 with --unwind fp, 1.15 with dwarf, and
            for auto by `frames` in the table. Three pairs are played. When the limit is between the least ratio and the
            median, up to nine are, and the median of all counts. Judged in the full run only, because short programs
            measure their start, and not beside other load. With -follow the CPU time includes the merged trace, and is
            judged where the table has a limit for it. When bare ticks (--floor) alone take more than the limit,
            the recorded run may take the limit times their CPU time: shown as LIMITf
    wall    elapsed time of the recorded program, as its session has it, divided by that of the bare run, is at most 1.5
            times the CPU ratio: more would be time in which the program waits for the tracer. (The largest ratio of 20
            rows was 1.5. That of tsan was 3.9 while its threads waited for ticks that its runtime had postponed.)
            Judged in the full run, not beside other load, and not for servers, which end when their clients have
    rate    requests per second of a bare server divided by those of a recorded one, with the same limits
    hot     the ten functions that perf finds hottest have the same share of CPU time (hot.py), and at most 5 % of CPU
            time is unseen. perf records the same run. Shown: the largest difference, in bounds; over 1.0 is a failure

Modes: UNWIND-INTERVAL, with -follow; -user, by an ordinary user when this one is root; -load, while stress-ng keeps all
processors busy. Sessions, profiles and stacks of failures are kept in out/programs.

--floor records nothing. It shows the lower bound for tracers that sample by signals of CPU clocks: CPU time and rate of
each program with such a clock of 1 ms for each thread and an empty handler (src/ticks.c), beside bare runs."""
import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hot import PERF_PERIOD_NS, Perf, compare_profiles
from playing import Mode, Player, end_on_signals, patience_for, sessions_in
from table import read_table

KEPT = Path("out/programs")
QUICK_MODES = "auto-1ms"
FULL_MODES = ("fp-1ms dwarf-1ms auto-1ms fp-10ms dwarf-10ms auto-10ms auto-1ms-follow dwarf-1ms-follow "
              "auto-1ms-user auto-1ms-follow-user auto-1ms-load dwarf-1ms-load")
LIMIT_FRAMES, LIMIT_NO_FRAMES = 1.05, 1.15
LIMIT_WALL, WALL_NOISE_NS = 1.5, 1e8   # a multiple of the CPU ratio; what a busy machine may add to any run
PAIRS, MOST_PAIRS = 3, 9


def is_undecided(ratios, limit):
    """Returns True when more pairs of runs could show that the median of ratios is within the limit."""
    return bool(ratios and limit) and min(ratios) <= limit < statistics.median(ratios)


class Row:
    """One program in one mode: verdicts by name (True, False, None: not judged), their texts, and notes below the row."""

    def __init__(self, program, mode):
        self.program, self.mode = program, mode
        self.verdicts, self.texts, self.notes = {}, {}, []

    def judge(self, what, verdict, text=None, note=None):
        if self.verdicts.get(what) is not False:
            self.verdicts[what] = verdict
        if text is not None:
            self.texts[what] = text
        if note:
            self.notes.append(f"{what}: {note}")

    def failed(self):
        return [what for what, verdict in self.verdicts.items() if verdict is False]

    def show(self, repeat):
        def cell(what):
            verdict = self.verdicts.get(what)
            text = self.texts.get(what)
            if text is None:
                return {True: "ok", False: "FAIL", None: "-"}[verdict]
            return text + ("!" if verdict is False else "")
        print(f"{self.program.name:19} {self.mode.name:20} {cell('end'):5} {cell('out'):5} {cell('acc'):5} "
              f"{cell('cpu'):>12} {cell('wall'):>8} {cell('rate'):>12} {cell('hot'):>10}  "
              f"{'FAIL' if self.failed() else 'pass'}", flush=True)
        if not self.failed():
            for note in self.notes:
                if "hot" in self.verdicts and self.verdicts["hot"] is None and note.startswith("hot: "):
                    print(f"    {note}")
        else:
            for note in self.notes:
                print(f"    {note}")
            print(f"FAIL {self.program.name} {self.mode.name}: {', '.join(self.failed())}; again: {repeat}", flush=True)


class Suite:
    def __init__(self, options, player):
        self.options, self.player = options, player
        self.root = os.geteuid() == 0
        self.size_of = (lambda p: p.full) if options.full else (lambda p: p.quick)
        self.perf = self.find_perf()
        self.floors = {}
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def find_perf(self):
        """Returns None, or the reason why perf is not available."""
        if not shutil.which("perf"):
            return "perf is missing (package linux-perf)"
        done = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-c", str(PERF_PERIOD_NS), "-o", "/dev/null", "--", "true"],
                              capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else "perf is not allowed here (kernel.perf_event_paranoid)"

    def repeat(self, row):
        words = ["tests/programs/run.sh", *(["--full"] if self.options.full else []), "--only", row.program.name, "--mode",
                 row.mode.name]
        if os.environ.get("B", "build") != "build":
            words.insert(0, f"B={shlex.quote(os.environ['B'])}")
        return " ".join(words)

    def skip(self, what, reason):
        self.counts["skipped"] += 1
        print(f"SKIP {what}: {reason}", flush=True)

    # ---- one row

    def compare_run(self, row, bare, run, what):
        """Compares a recorded run with a bare one."""
        if not run.ended:
            row.judge("end", False, note=f"{what} has not ended; stacks: {run.stacks}")
            return False
        row.judge("end", True)
        for name, plain, ours in (("stdout", bare.out, run.out), ("stderr", bare.err, run.err),
                                  ("status", bare.status, run.status)):
            if name in row.program.same and not (name == "stderr" and what == "the run beside perf"):
                same = plain == ours
                row.judge("out", same, note=None if same else f"{what}: {name} {ours!r:.300}, bare {plain!r:.120}")
        return True

    def read_sessions(self, row, folder):
        """Returns the reports of all sessions in a folder, and judges them."""
        reports = []
        sessions = sessions_in(folder)
        if not sessions:
            row.judge("acc", False, note="no session")
        for session in sessions:
            done = subprocess.run([self.player.strobe, "report", "--json", "--top", "1000000", str(session)],
                                  capture_output=True, text=True, errors="replace", check=False)
            try:
                report = json.loads(done.stdout)
            except ValueError:
                row.judge("acc", False, note=f"{session.name}: report: status {done.returncode}, {done.stderr.strip()[-300:]}")
                continue
            reports.append(report)
            events = report.get("events", {})
            consistent = report.get("balanced", events.get("balanced", report.get("consistent")))
            replaced = ".exec" in session.name
            ended = report.get("closed") or report.get("exited")   # exited by its own system call, as Go programs do
            if consistent is not True or not (ended or replaced):
                row.judge("acc", False, note=f"{session.name} ({report.get('command')}): closed {report.get('closed')}, "
                          f"accounting consistent {consistent}")
            else:
                row.judge("acc", True)
            threads = row.program.threads
            if threads and len(report["threads"]) != int(threads):
                row.judge("acc", False, note=f"{session.name}: {len(report['threads'])} threads, expected {threads}")
        return reports

    def judge_wall(self, row, bare, run, reports):
        longest = max((report.get("wall_ns", 0) for report in reports), default=0)
        if not longest or not run.cpu or bare.rate or row.mode.load or not self.options.full:
            return
        wall, cpu = longest / bare.wall / 1e9, max(1, run.cpu / bare.cpu)
        row.judge("wall", longest - WALL_NOISE_NS <= LIMIT_WALL * cpu * bare.wall * 1e9, f"{wall:.2f}")

    def play_row(self, row):
        program, mode, player = row.program, row.mode, self.player
        user = self.root and (mode.user or program.is_user)
        size = self.size_of(program)
        kept = KEPT / f"{program.name}.{mode.name}"
        shutil.rmtree(kept, ignore_errors=True)
        one, two = player.work / "bare", player.work / "recorded"
        ratios, rates, pairs = [], [], PAIRS if self.options.full else 1
        limits = self.limits(row)
        while len(ratios) < pairs:
            bare = player.run(program, size, one, user=user)
            if not bare.ended or bare.cpu is None:
                row.judge("end", False, note=f"the bare run has failed: status {bare.status}, {bare.err[-300:]!r}")
                return
            run = player.run(program, size, two, player.record_words(mode, two), user, patience_for(bare),
                             kept / "stacks.txt")
            if not self.compare_run(row, bare, run, "the recorded run"):
                self.keep(row, two, kept)
                return
            if len(ratios) == 0:
                self.judge_wall(row, bare, run, self.read_sessions(row, two))
            if run.cpu is None or row.verdicts.get("out") is False:
                self.keep(row, two, kept)
                break
            ratios.append(run.cpu / bare.cpu)
            rates.append(bare.rate / run.rate if bare.rate and run.rate else None)
            if len(ratios) == pairs and self.options.full and not mode.load and (
                    is_undecided(ratios, limits["cpu"]) or is_undecided([rate for rate in rates if rate], limits["rate"])):
                pairs = min(pairs + 2, MOST_PAIRS)
        for what, values in (("cpu", ratios), ("rate", [rate for rate in rates if rate])):
            if values:
                median, limit = statistics.median(values), limits[what]
                judged = self.options.full and limit and not mode.load
                floor = self.floor_of(program, user)[what] if judged and median > limit else None
                over = floor is not None and floor > limit
                limit = limit * floor if over else limit
                row.judge(what, median <= limit if judged else None,
                          f"{median:.2f}" + (f"/{limit:.2f}" if judged else "") + ("f" if over else ""),
                          f"{' '.join(f'{value:.2f}' for value in values)}" +
                          (f"; bare ticks {floor:.2f}" if floor is not None else ""))
        self.play_beside_perf(row, bare, user, kept)

    def play_beside_perf(self, row, bare, user, kept):
        program, mode, player = row.program, row.mode, self.player
        if program.hot.startswith("no ") or self.perf:
            row.judge("hot", None, note=self.perf or program.hot[3:])
            return
        folder = player.work / "beside-perf"
        data = folder / "perf.data"
        prefix = ["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock:u", "-c", str(PERF_PERIOD_NS), "-o", str(data), "--",
                  *player.record_words(mode, folder)]
        run = player.run(program, self.size_of(program), folder, prefix, user, 2 * patience_for(bare), kept / "stacks.txt",
                         program.beside)
        if not self.compare_run(row, bare, run, "the run beside perf"):
            self.keep(row, folder, kept)
            return
        reports = self.read_sessions(row, folder)
        perf = Perf(str(data))
        verdict, text, lines = compare_profiles(reports, perf, mode.interval_ns)
        row.judge("hot", verdict, text)
        row.notes += lines
        for pid in perf.pids:
            Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)
        if row.failed():
            self.keep(row, folder, kept)

    def limits(self, row):
        own, mode = row.program.limits, row.mode
        framed = mode.unwind == "fp" or mode.unwind == "auto" and row.program.has_frames
        cpu = own.get("follow") if mode.follow else own.get("cpu", LIMIT_FRAMES if framed else LIMIT_NO_FRAMES)
        return {"cpu": cpu if mode.interval_ns >= 1e6 else None, "rate": own.get("rate")}

    def keep(self, row, folder, kept):
        """Keeps the files of a failed run, except large and useless ones."""
        kept.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.is_file():
                subprocess.run(["cp", "--sparse=always", path, kept / path.name], check=False)

    # ---- the floor

    def floor_of(self, program, user):
        """Returns CPU time with bare ticks divided by that of a bare run, and the same for the rate; or None."""
        if (program.name, user) not in self.floors:
            self.floors[program.name, user] = self.measure_floor(program, user)
        return self.floors[program.name, user]

    def measure_floor(self, program, user):
        size, player, ratios, rates = self.size_of(program), self.player, [], []
        for _ in range(PAIRS):
            bare = player.run(program, size, player.work / "bare", user=user)
            run = player.run(program, size, player.work / "ticks", player.floor_words(), user, patience_for(bare))
            if not run.ended or run.status != bare.status or not run.cpu or not bare.cpu:
                print(f"FAIL {program.name}: with ticks alone: ended {run.ended}, status {run.status}", flush=True)
                return {"cpu": None, "rate": None}
            ratios.append(run.cpu / bare.cpu)
            if bare.rate and run.rate:
                rates.append(bare.rate / run.rate)
        return {"cpu": statistics.median(ratios), "rate": statistics.median(rates) if rates else None}

    def play_floor(self, program):
        size = self.size_of(program)
        problem = program.missing_package() or (self.player.build(program) if size != "-" else None)
        if size == "-":
            return
        if problem:
            self.skip(program.name, problem)
            return
        floor = self.floor_of(program, self.root and program.is_user)
        self.counts["failed" if floor["cpu"] is None else "passed"] += 1
        if floor["cpu"] is not None:
            rate = f"{floor['rate']:.2f}" if floor["rate"] else "-"
            print(f"{program.name:19} {'bare ticks':20} {floor['cpu']:12.2f} {rate:>12}", flush=True)

    # ---- all

    def play_program(self, program, modes):
        package = program.missing_package()
        size = self.size_of(program)
        if size == "-":
            return
        if package:
            self.skip(program.name, f"package {package} is missing (ci/deps programs)")
            return
        modes = [mode for mode in modes if program.plays(mode)]
        problem = self.player.build(program) if modes else None
        if problem:
            self.counts["failed"] += 1
            print(f"FAIL {program.name} does not build: {problem}", flush=True)
            return
        for mode in modes:
            if mode.user and not self.root:
                self.skip(f"{program.name} {mode.name}", "this is an ordinary user already")
                continue
            row = Row(program, mode)
            self.play_row(row)
            self.counts["failed" if row.failed() else "passed"] += 1
            row.show(self.repeat(row))

    def play(self, programs, modes):
        if self.options.floor:
            print(f"{'program':19} {'':20} {'cpu':>12} {'rate':>12}")
            for program in programs:
                self.play_floor(program)
            return
        if self.perf:
            self.skip("the hottest functions", self.perf)
        print(f"{'program':19} {'mode':20} {'end':5} {'out':5} {'acc':5} {'cpu':>12} {'wall':>8} {'rate':>12} {'hot':>10}")
        for program in programs:
            self.play_program(program, [mode for mode in modes if not mode.load])
        loaded = [mode for mode in modes if mode.load]
        if not loaded:
            return
        if not shutil.which("stress-ng"):
            self.skip("all rows beside other load", "package stress-ng is missing (ci/deps programs)")
            return
        with subprocess.Popen(["stress-ng", "-q", "--cpu", str(os.cpu_count())], stdin=subprocess.DEVNULL) as stress:
            try:
                time.sleep(1)
                for program in programs:
                    self.play_program(program, loaded)
            finally:
                stress.terminate()


def choose(programs, only):
    if not only:
        return programs
    names = only.split(",")
    unknown = set(names) - {program.name for program in programs}
    if unknown:
        print(f"tests/programs: {min(unknown)}: no such program in tests/programs/table", file=sys.stderr)
        sys.exit(2)
    return [program for program in programs if program.name in names]


def main():
    end_on_signals()
    parser = argparse.ArgumentParser(prog="tests/programs/run.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all programs, in all modes, for seconds each")
    parser.add_argument("--only", metavar="NAME,...", help="these programs")
    parser.add_argument("--mode", metavar="MODE,...", help="these modes")
    parser.add_argument("--floor", action="store_true", help="record nothing: what bare ticks cost")
    parser.add_argument("--list", action="store_true", help="print the programs' names")
    options = parser.parse_args()
    programs = choose(read_table(), options.only)
    if options.list:
        print("\n".join(program.name for program in programs))
        return 0
    try:
        names = options.mode.split(",") if options.mode else (FULL_MODES if options.full else QUICK_MODES).split()
        modes = [Mode(name) for name in names]
    except ValueError as error:
        print(f"tests/programs: {error}", file=sys.stderr)
        return 2
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="strobe-programs-") as work:
        suite = Suite(options, Player(os.environ.get("B", "build"), work))
        suite.play(programs, modes)
    counts = suite.counts
    if not sum(counts.values()):
        print("tests/programs: nothing to play: only --full plays these programs, or none of them has these modes",
              file=sys.stderr)
        return 2
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
