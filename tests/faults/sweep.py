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
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ("alloc", "map", "write", "host")
LIMIT_SECONDS = 30
PAGE = 4096


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


def read_data(path):
    """Returns the size of a file, and its pages that hold more than zeros. Most of the 64 MiB of a session are holes."""
    with open(path, "rb") as file:
        fd, pages, at = file.fileno(), {}, 0
        size = os.fstat(fd).st_size
        while at < size:
            try:
                begin = os.lseek(fd, at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(fd, begin, os.SEEK_HOLE)
            for offset in range(begin - begin % PAGE, at, PAGE):
                page = os.pread(fd, PAGE, offset)
                if page.count(0) != len(page):
                    pages[offset] = page
    return size, pages


class Server:
    """A command that is loaded once, and forked for each run (FAULT_SERVER of faulty.c)."""

    def __init__(self, words, build, environment):
        self.output, self.errors = (os.memfd_create(name) for name in ("output", "errors"))
        for stream in self.output, self.errors:  # each run writes from the begin of an emptied file
            fcntl.fcntl(stream, fcntl.F_SETFL, os.O_APPEND)
        (to_read, self.requests), (self.answers, to_write) = os.pipe(), os.pipe()
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.errors, pass_fds=(to_read, to_write),
            env={**os.environ, "LD_PRELOAD": f"{build}/libfaulty.so", "FAULT_SERVER": f"{to_read} {to_write}",
                 **environment})
        os.close(to_read)
        os.close(to_write)

    def read_number(self, seconds):
        """Returns a number of the server, or None when there is none in time."""
        if not select.select([self.answers], [], [], seconds)[0]:
            return None
        number = os.read(self.answers, 4)
        if not number:
            raise EOFError(f"{self.process.args} does not serve")
        return int.from_bytes(number, sys.byteorder, signed=True)

    def run(self, kind, at, persists):
        """Returns the status of a run, and what it printed on stdout and on stderr."""
        for stream in self.output, self.errors:
            os.ftruncate(stream, 0)
        os.write(self.requests, f"{kind} {at} {int(persists)}".encode())
        pid, ended = self.read_number(LIMIT_SECONDS), self.read_number(LIMIT_SECONDS)
        if ended is None:
            os.kill(pid, signal.SIGKILL)
            self.read_number(LIMIT_SECONDS)
            return "none in time", b"", b""
        return (os.waitstatus_to_exitcode(ended),
                *(os.pread(stream, os.fstat(stream).st_size, 0) for stream in (self.output, self.errors)))

    def end(self):
        for file in self.requests, self.answers, self.output, self.errors:
            os.close(file)
        self.process.wait()


class Command:
    """A case that is ready to run. Its runs use the same folder, one after the other."""

    def __init__(self, case, build, folder):
        self.case, self.folder, self.work, self.report = case, folder, Path(folder) / "work", Path(folder) / "report"
        self.work.mkdir()
        environment = {"FAULT_PROGRAM": case.program, "FAULT_REPORT": str(self.report), "TMPDIR": str(self.work)}
        environment.update({"FAULT_IMAGE": case.image} if case.image else {})
        self.server = Server([word.format(work=self.work) for word in case.words], build, environment)
        # These read what a recording leaves, without a fault.
        self.readers = {name: Server([f"{build}/strobe", "report", self.work / name], build, {"FAULT_PROGRAM": "none"})
                        for name in ("o.strobe", "o.pftrace") if case.records}

    def can_read(self, name):
        return name in self.readers and self.readers[name].run("none", 0, False)[0] == 0

    def clear(self):
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.report.unlink(missing_ok=True)

    def end(self):
        for server in self.server, *self.readers.values():
            server.end()


class Run:
    """One run of a command and its outcome."""

    def __init__(self, command, kind, at, persists):
        command.clear()
        self.status, self.said, complaint = command.server.run(kind, at, persists)
        self.complaint = complaint.decode().replace(command.folder, "")
        self.met = command.report.read_text().split()[0] if command.report.exists() else ""
        self.files = {path.name: read_data(path) for path in command.work.iterdir()}
        self.unreadable = [name for name in sorted(self.files) if command.case.records and not command.can_read(name)]

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


def sweep_kind(command, clean, kind, sample):
    """Returns the number of places tried, and lines about those with a wrong outcome."""
    case, tried, lines, at, met = command.case, 0, [], 1, True
    while met:
        met = False
        for persists in (tried % 2 == 1,) if sample else (False, True):
            run = Run(command, kind, at, persists)
            met |= bool(run.met)
            wrong = run.find_wrong(case, clean) if run.met else ""
            if wrong:
                lines.append(f"FAIL {case.name}: {kind} {at}{' and later' if persists else ''} ({run.met}): {wrong}"
                             f"{': ' + run.complaint.strip()[-300:] if run.complaint else ''}")
        tried += met
        at += 1 + (2 * at if sample else 0)
    return tried, lines


def sweep(case, build, kinds, sample):
    """Returns the number of places tried in all kinds, and lines about those with a wrong outcome."""
    with tempfile.TemporaryDirectory() as folder:
        command = Command(case, build, folder)
        try:
            clean = Run(command, kinds[0], 0, False)
            if clean.status != 0:
                return 0, [f"FAIL {case.name}: status {clean.status} without a fault: {clean.complaint.strip()}"]
            swept = [sweep_kind(command, clean, kind, sample) for kind in kinds if kind in case.kinds]
        finally:
            command.end()
    return sum(tried for tried, _ in swept), [line for _, lines in swept for line in lines]


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
        jobs = [pool.submit(sweep, case, options.build, options.kinds.split(","), options.sample) for case in cases]
        for job in jobs:
            tried, lines = job.result()
            for line in lines:
                print(line, flush=True)
            failed += len(lines)
            passed += max(0, tried - len(lines))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
