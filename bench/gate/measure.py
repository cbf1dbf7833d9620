"""Measures rows: instructions by callgrind, memory and allocations by dhat, sizes of files."""
import collections
import glob
import os
import re
import shutil
import subprocess

import callgrind

PAGE, LINE = 4096, 64


class Failure(Exception):
    """A command of a row failed. The text has one line."""


class Processes:
    """The processes that run now, so that an interrupted gate can end them."""

    def __init__(self):
        self.running, self.ended = set(), False

    def run(self, command, environment):
        """Runs a command and returns its exit status and its output."""
        if self.ended:
            raise Failure("interrupted")
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.running.add(process)
        said, _ = process.communicate()
        self.running.discard(process)
        return process.returncode, said

    def end_all(self):
        self.ended = True
        for process in list(self.running):
            try:
                process.terminate()
            except ProcessLookupError:
                pass


class Measurement:
    """What one tree needed for a row.

    counts   instructions by (directory, function)
    figures  other figures by name: session, trace, heap, allocations
    """

    def __init__(self, counts, figures):
        self.counts, self.figures = counts, figures


def written_bytes(path):
    """Returns the bytes of a file's lines of 64 bytes that hold anything but zeros. A session is a sparse file, whose
    size and blocks on disk depend on its capacity and on the file system."""
    empty, count = bytes(PAGE), 0
    with open(path, "rb") as file:
        while page := file.read(PAGE):
            if page != empty[:len(page)]:
                lines = (page[i:i + LINE] for i in range(0, len(page), LINE))
                count += sum(line != empty[:len(line)] for line in lines)
    return LINE * count


class Meter:
    """Measures rows of one tree."""

    def __init__(self, build, folder, inputs, environment, processes):
        self.build, self.folder, self.inputs = build, folder, inputs
        self.environment, self.processes = environment, processes

    def fresh(self, name):
        """Returns an empty directory. Its path has the same length in both trees."""
        work = os.path.join(self.folder, name)
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        return work

    def must(self, row, command):
        status, said = self.processes.run(command, self.environment)
        if status:
            last = (said.strip().splitlines() or ["no output"])[-1]
            raise Failure(f"{row.name}: {' '.join(command)}: exit status {status}: {last}")

    def command(self, row, work):
        return row.words(row.command, self.build, work, self.inputs)

    def profiles(self, row, work):
        """Returns the profiles of the row's counted process: one, or one for each thread."""
        tool = ["valgrind", "--tool=callgrind", "-q", "--trace-children=yes",
                f"--callgrind-out-file={work}/callgrind.%p"]
        if row.within:
            tool.append(f"--toggle-collect={row.within}")
        if row.omitted:
            tool.append("--separate-threads=yes")
        self.must(row, tool + self.command(row, work))
        paths = [p for p in glob.glob(f"{work}/callgrind.*")
                 if os.path.basename(callgrind.read_command(p).split(" ")[0]) == row.counted]
        processes = {re.sub(r"-\d+$", "", p) for p in paths}
        if len(processes) != 1:
            raise Failure(f"{row.name}: {len(processes)} processes of {row.counted} were counted, expected 1")
        return [callgrind.read_profile(p) for p in paths]

    def count(self, row, work):
        counts = collections.Counter()
        for profile in self.profiles(row, work):
            if not row.omitted or all(function != row.omitted for _, function in profile):
                counts.update({key: n for key, n in profile.items()
                               if key[0] == callgrind.LIBRARIES or key[0].startswith(row.watched)})
        if not any(key[0] != callgrind.LIBRARIES for key in counts):
            raise Failure(f"{row.name}: nothing was counted{' in ' + row.within if row.within else ''}")
        return counts

    def sizes(self, row, work):
        figures = {}
        if row.session:
            figures["session"] = written_bytes(os.path.join(work, row.session))
        if row.trace:
            figures["trace"] = os.path.getsize(os.path.join(work, row.trace))
        return figures

    def heap(self, row):
        """Returns the most bytes in use at once, and the number of allocations, of the counted process."""
        work = self.fresh(row.name)
        self.must(row, ["valgrind", "--tool=dhat", "--trace-children=yes", f"--log-file={work}/dhat.%p",
                        f"--dhat-out-file={work}/dhat-out.%p", *self.command(row, work)])
        for path in glob.glob(f"{work}/dhat.*"):
            with open(path) as file:
                text = file.read()
            program = re.search(r"Command: (\S+)", text)
            if program and os.path.basename(program[1]) == row.counted and "At t-gmax:" in text:
                total = re.search(r"Total: .* in ([\d,]+) blocks", text)
                most = re.search(r"At t-gmax: +([\d,]+) bytes", text)
                return {"heap": int(most[1].replace(",", "")), "allocations": int(total[1].replace(",", ""))}
        raise Failure(f"{row.name}: dhat counted no process of {row.counted}")

    def measure(self, row):
        work = self.fresh(row.name)
        counts = self.count(row, work)
        figures = self.sizes(row, work)
        if row.memory:
            figures.update(self.heap(row))
        shutil.rmtree(os.path.join(self.folder, row.name))
        return Measurement(counts, figures)
