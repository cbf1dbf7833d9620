#!/usr/bin/env python3
"""Fault sweep: the n-th allocation, mapping, write or other call of a command fails, for every n until a run meets no
fault.

    sweep.py BUILD [--sample] [--kinds KIND,...] [CASE...]

Runs commands of BUILD under BUILD/libfaulty.so (faulty.c). Each fault comes alone, and together with the failure of all
later calls of its kind. --sample tries ever fewer places: 1, 4, 13, 40, ..., and alternates between the two.

A command that meets a fault does one of these:

    reports it     exit status 2, one line on stderr, and no output under the final name or beside it
    overcomes it   exit status 0, and the output of a run without a fault

The output of a recording differs from run to run. It must be readable instead; a session that is left must be a whole
recording. What libdw allocates to find names is left out there: without it, names are missing, and a line states so.

Prints a line `FAIL ...` for each other outcome, and `N passed, N failed` last."""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ("alloc", "map", "write", "host")
LIMIT_SECONDS = 30


class Case:
    """A command. {work} stands for the folder of its output."""

    def __init__(self, name, words, program="strobe", image=None, records=False, kinds=KINDS):
        self.name, self.words, self.program, self.image, self.records, self.kinds = (
            name, words, program, image, records, kinds)


def unpack(inputs):
    for name in ("ordinary.strobe", "calls.strobe", "managed.strobe", "ordinary.perfetto-trace"):
        with open(inputs / name, "wb") as out:
            subprocess.run(["xz", "-dc", f"fixtures/sessions/{name}.xz"], stdout=out, check=True)


def list_cases(build, inputs):
    strobe, session, calls = f"{build}/strobe", str(inputs / "ordinary.strobe"), str(inputs / "calls.strobe")
    trace, imports = str(inputs / "ordinary.perfetto-trace"), "fixtures/imports"

    def converts(name, source, output, *options):
        return Case(name, [strobe, "convert", *options, source, "-o", f"{{work}}/{output}"])

    def imports_to(name, form, source, output):
        return Case(name, [strobe, "import", form, f"{imports}/{source}", "-o", f"{{work}}/{output}"])

    record = [strobe, "record", "-o", "{work}/o.pftrace", "--", f"{build}/spin"]
    return [
        converts("convert_perfetto", session, "o.pftrace"),
        converts("convert_deflated", session, "o.pftrace", "--deflate"),
        converts("convert_chrome", session, "o.json"),
        converts("convert_speedscope", session, "o.speedscope.json"),
        converts("convert_folded", session, "o.folded"),
        converts("convert_pprof", session, "o.pb.gz"),
        converts("convert_firefox", session, "o.firefox.json"),
        converts("convert_findings", session, "o.pftrace", "--findings"),
        converts("convert_calls", calls, "o.pftrace"),
        imports_to("import_ftrace", "ftrace", "rheatrace.ftrace", "o.pftrace"),
        imports_to("import_system", "ftrace", "sched.ftrace", "o.pftrace"),
        imports_to("import_session", "ftrace", "rheatrace.ftrace", "o.strobe"),
        imports_to("import_btrace2", "btrace2", "shop.btrace2", "o.folded"),
        imports_to("import_art_trace", "art-trace", "shop.trace", "o.strobe"),
        imports_to("import_rhea", "rhea", "rheatrace.log", "o.json"),
        Case("merge", [strobe, "merge", session, trace, "--system", f"{imports}/sched.ftrace", "--offset", "1s", "-o",
                       "{work}/o.pftrace"]),
        imports_to("import_btrace3", "btrace3", "notify.btrace3", "o.strobe"),
        imports_to("import_perf", "perf", "perf.txt", "o.strobe"),
        imports_to("import_simpleperf", "simpleperf", "shop.simpleperf", "o.json"),
        imports_to("import_gecko", "gecko", "page.gecko.json", "o.strobe"),
        imports_to("import_collapsed", "collapsed", "shop.collapsed", "o.folded"),
        imports_to("import_btrace_ios", "btrace-ios", "shop.btrace-ios", "o.strobe"),
        imports_to("import_instruments", "instruments", "shop.instruments.xml", "o.strobe"),
        Case("import_matrix", [strobe, "import", "matrix-events", f"{imports}/matrix.events"]),
        Case("report_session", [strobe, "report", session]),
        Case("report_json", [strobe, "report", "--json", session]),
        Case("report_findings", [strobe, "report", "--findings", session]),
        Case("report_page", [strobe, "report", "--html", "{work}/o.html", session]),
        Case("report_trace", [strobe, "report", trace]),
        Case("export", [strobe, "export", "--jsonl", session, calls, "-o", "{work}/o.jsonl"]),
        Case("diff", [strobe, "diff", session, calls]),
        Case("diff_trace", [strobe, "diff", "--json", session, trace]),
        Case("diff_page", [strobe, "diff", "--html", "{work}/o.html", session, calls]),
        Case("diff_stacks", [strobe, "diff", "--base", session, calls, "--new", calls, session, "-o",
                             "{work}/o.folded"]),
        Case("symbolize", [strobe, "symbolize", "--mapping", "fixtures/art/album-mapping.txt",
                           str(inputs / "managed.strobe"), "-o", "{work}/o.strobe"]),
        Case("learn", [f"{build}/strobe-lab", "learn", trace, "-o", "{work}/o.scn", "--replays", "0"],
             program="strobe-lab"),
        Case("run_page", [f"{build}/strobe-lab", "run", "fixtures/scenarios/priority_inversion.scn", "--html",
                          "{work}/o.html"], program="strobe-lab"),
        Case("compare_page", [f"{build}/strobe-lab", "compare", "fixtures/scenarios/priority_inversion.scn", "--policy",
                              "ideal", "--html", "{work}/o.html"], program="strobe-lab"),
        Case("record", record, image="/strobe", records=True),
        Case("record_sched", [strobe, "record", "--sched", "-q", *record[2:]], image="/strobe", records=True),
        Case("start_linux", record, program="spin", image="/libstrobe-preload.so", records=True),
    ]


class Run:
    """One run of a case and its outcome."""

    def __init__(self, case, build, kind, at, persists):
        with tempfile.TemporaryDirectory() as folder:
            work, report = Path(folder) / "work", Path(folder) / "report"
            work.mkdir()
            environment = {**os.environ, "LD_PRELOAD": f"{build}/libfaulty.so", "FAULT_KIND": kind, "FAULT_AT": str(at),
                           "FAULT_PROGRAM": case.program, "FAULT_REPORT": str(report), "TMPDIR": str(work)}
            environment.update({"FAULT_ALL": "1"} if persists else {})
            environment.update({"FAULT_IMAGE": case.image} if case.image else {})
            try:
                done = subprocess.run([word.format(work=work) for word in case.words], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                      timeout=LIMIT_SECONDS)
                self.status, self.said, self.complaint = done.returncode, done.stdout, done.stderr.decode()
            except subprocess.TimeoutExpired:
                self.status, self.said, self.complaint = "none in time", b"", ""
            self.complaint = self.complaint.replace(folder, "")
            self.met = report.read_text().split()[0] if report.exists() else ""
            self.files = {path.name: path.read_bytes() for path in work.iterdir()}
            self.unreadable = [path.name for path in sorted(work.iterdir()) if case.records and not reads(build, path)]

    def find_wrong(self, case, clean):
        """Returns what is wrong with the outcome, or ""."""
        lines = len(self.complaint.splitlines())
        if self.status not in (0, 2):
            return f"status {self.status}"
        if self.unreadable:
            return f"left {', '.join(self.unreadable)}, which cannot be read"
        if case.records:
            wanted = {"o.pftrace", "o.strobe"} if self.status == 0 else set(self.files) & {"o.strobe"}
            if set(self.files) != wanted:
                return f"left {', '.join(sorted(self.files)) or 'nothing'}"
        elif self.status == 0 and (self.said != clean.said or self.files != clean.files):
            return "status 0 with another output than without the fault"
        elif self.status == 2 and self.files:
            return f"left {', '.join(sorted(self.files))}"
        if self.status == 2:
            return "" if lines == 1 else f"{lines} lines on stderr"
        return "" if lines <= max(1, len(clean.complaint.splitlines())) else f"{lines} lines on stderr"


def reads(build, path):
    return subprocess.run([f"{build}/strobe", "report", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def sweep(case, build, kind, sample):
    """Returns the number of places tried, and lines about those with a wrong outcome."""
    clean, tried, lines, at = Run(case, build, kind, 0, False), 0, [], 1
    met = clean.status == 0
    if not met:
        lines.append(f"FAIL {case.name}: status {clean.status} without a fault: {clean.complaint.strip()}")
    while met:
        met = False
        for persists in (tried % 2 == 1,) if sample else (False, True):
            run = Run(case, build, kind, at, persists)
            met |= bool(run.met)
            wrong = run.find_wrong(case, clean) if run.met else ""
            if wrong:
                lines.append(f"FAIL {case.name}: {kind} {at}{' and later' if persists else ''} ({run.met}): {wrong}"
                             f"{': ' + run.complaint.strip()[-300:] if run.complaint else ''}")
        tried += met
        at += 1 + (2 * at if sample else 0)
    return tried, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_intermixed_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        unpack(Path(folder))
        cases = [case for case in list_cases(options.build, Path(folder)) if case.name in options.names or
                 not options.names]
        jobs = [(case, pool.submit(sweep, case, options.build, kind, options.sample))
                for case in cases for kind in options.kinds.split(",") if kind in case.kinds]
        for case, job in jobs:
            tried, lines = job.result()
            for line in lines:
                print(line, flush=True)
            failed += len(lines)
            passed += max(0, tried - len(lines))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
