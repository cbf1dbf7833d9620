"""Runs programs, bare and recorded, and stores the stacks of programs that do not end."""
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAST_PATIENCE = 25.0  # lower bound of the time limit of a run, in seconds
PATIENCE_TIMES = 15    # the time limit is this many times the duration of the bare run


def sessions_in(folder):
    """Returns the sessions of a recording in `folder`; with --follow they are in a folder below it."""
    found = []
    for path in sorted(folder.glob("s*")):
        if path.is_dir():
            found += sorted(path.glob("*.strobe"))
        elif not path.name.endswith("trace"):
            found.append(path)
    return found


class Mode:
    """`UNWIND-INTERVAL[-follow][-user][-load]`, such as auto-1ms or dwarf-10ms-follow."""

    def __init__(self, name):
        parts = name.split("-")
        self.name = name
        good = len(parts) >= 2 and parts[0] in ("fp", "dwarf", "auto") and parts[1].endswith(("ms", "us"))
        if not good or set(parts[2:]) - {"follow", "user", "load"}:
            raise ValueError(f"mode {name}: expected fp|dwarf|auto-INTERVAL[-follow][-user][-load]")
        self.unwind, self.interval = parts[0], parts[1]
        self.follow, self.user, self.load = ("follow" in parts[2:], "user" in parts[2:], "load" in parts[2:])
        self.interval_ns = float(self.interval[:-2]) * (1e6 if self.interval.endswith("ms") else 1e3)


class Run:
    """The result of a run."""

    def __init__(self):
        self.ended = False
        self.out = self.err = b""
        self.status = self.cpu = self.wall = self.rate = None
        self.stacks = None


def list_tree(root):
    """Returns the process and its descendants, children last."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            children.setdefault(int(fields[1]), []).append(int(entry))
    tree, at = [root], 0
    while at < len(tree):
        tree += children.get(tree[at], [])
        at += 1
    return tree


def end_tree(process):
    """Ends a process that this program started, after its descendants, so that none of them gets another parent."""
    for _ in range(40):
        tree = list_tree(process.pid)
        for pid in tree[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if len(tree) == 1:
            break
        time.sleep(0.05)
    process.kill()
    process.wait()


def end_on_signals():
    """Makes INT, TERM and HUP raise an exception, so that the started processes are ended, too."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))


def describe_tree(root, file):
    """Writes the stacks of all threads of a tree of processes."""
    with open(file, "w", encoding="utf-8") as out:
        for pid in list_tree(root):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                tasks = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
            except OSError:
                continue
            out.write(f"==== {pid}: {words}\n")
            for tid in tasks:
                for what in ("comm", "status", "wchan", "syscall", "stack"):
                    try:
                        text = Path(f"/proc/{pid}/task/{tid}/{what}").read_text()
                    except OSError:
                        continue
                    if what == "status":
                        text = "\n".join(line for line in text.splitlines() if line.startswith(("State", "Sig", "Shd")))
                    out.write(f"{tid} {what}: {text.strip()}\n")
            if shutil.which("gdb") and "measure" not in words.split(" ")[0]:
                out.flush()
                words = ["timeout", "-k", "5", "60", "gdb", "-batch", "-nx", "-p", str(pid), "-ex", "set pagination off",
                         "-ex", "thread apply all bt 40"]
                subprocess.run(words, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)


class Player:
    """Runs the programs of a table in directories below `work`, with a copy of strobe there."""

    def __init__(self, built, work):
        self.work = Path(work)
        self.bin = self.work / "bin"
        self.bin.mkdir()
        self.work.chmod(0o755)
        for name in ("strobe", "libstrobe-preload.so"):
            shutil.copy2(Path(built) / name, self.bin / name)
        self.src = self.work / "tests/programs/src"
        shutil.copytree(HERE / "src", self.src)
        compiler = f"gcc -std=c11 -D_GNU_SOURCE -I{self.work} -O2 -g -pthread"
        subprocess.run([*compiler.split(), "-o", self.bin / "measure", self.src / "measure.c"], check=True)
        self.strobe = str(self.bin / "strobe")
        self.environment = {**os.environ, "bin": str(self.bin), "src": str(self.src), "cc": compiler}
        self.built = set()

    def build(self, program):
        """Builds the files of a program; returns the compiler's output when that fails."""
        for command in program.build:
            if command in self.built:
                continue
            done = subprocess.run(["bash", "-c", command], env=self.environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, cwd=self.work, check=False)
            if done.returncode:
                return f"{command}: {done.stderr.strip()[-600:]}"
            self.built.add(command)
        return None

    def record_words(self, mode, folder):
        words = [self.strobe, "record", "-q", "-f", "--unwind", mode.unwind, "--interval", mode.interval,
                 "--async-interval", mode.interval]
        if mode.follow:
            return [*words, "--follow", "-o", f"{folder}/s.perfetto-trace", "--"]
        return [*words, "--no-convert", "-o", f"{folder}/s.strobe", "--"]

    def floor_words(self):
        """Returns the words before a command that give it ticks of 1 ms and an empty handler for them. A shared
        ASan gets the option that accepts a library before it: this one replaces no function."""
        library = self.bin / "libticks.so"
        if not library.exists():
            subprocess.run([*self.environment["cc"].split(), "-shared", "-fPIC", "-o", library, self.src / "ticks.c"],
                           check=True)
        return ["env", f"LD_PRELOAD={library}", "ASAN_OPTIONS=verify_asan_link_order=0"]

    def run(self, program, size, folder, prefix=(), user=False, patience=None, dump=None, settings=None):
        """Runs a program in the new directory `folder`, with the words `prefix` before it. `dump`: the file for the stacks
        of processes that have not ended after `patience` seconds. `settings`: additional environment."""
        result = Run()
        shutil.rmtree(folder, ignore_errors=True)
        there = folder / "there"
        there.mkdir(parents=True)
        used, rate = folder / "used", folder / "rate"
        for path in (folder, there):
            path.chmod(0o777)
        words = ["bash", "-c", program.shell_command(), program.name, str(self.bin / "measure"), str(used), *prefix]
        if user:
            words = ["runuser", "-u", "nobody", "--", *words]
        environment = {**self.environment, "n": str(size), "RATE": str(rate), "HOME": str(there), **(settings or {})}
        with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
            process = subprocess.Popen(words, env=environment, cwd=there, stdout=out, stderr=err,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                process.wait(patience or 600)
                result.ended = True
            except subprocess.TimeoutExpired:
                if dump:
                    dump.parent.mkdir(parents=True, exist_ok=True)
                    describe_tree(process.pid, dump)
                    result.stacks = dump
                end_tree(process)
            except BaseException:
                end_tree(process)
                raise
        result.out, result.err = (folder / "out").read_bytes(), (folder / "err").read_bytes()
        try:
            status, spent, system, wall = (int(word) for word in used.read_text().split())
            result.status = 128 + (status & 127) if status & 127 else status >> 8
            result.cpu, result.wall = (spent + system) / 1e9, wall / 1e9
        except (OSError, ValueError):
            result.status = process.returncode
        try:
            result.rate = float(rate.read_text())
        except (OSError, ValueError):
            pass
        return result


def patience_for(bare):
    return max(LEAST_PATIENCE, PATIENCE_TIMES * (bare.wall or 0))
