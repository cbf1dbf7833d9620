"""Compares the functions' shares of processor time in one run, by strobe and by perf, which record it together.

perf samples user time only, of the whole tree of processes. Its samples in the engine are left out, and those in code
that the engine calls, too: the C library's `syscall`, and the vdso, where the engine's hooks read the clock. A sample of
perf has no caller, so it does not show whose call it was. In Strobe's report the engine's own calls are not there.

A tick that comes while the kernel holds interrupts off is delivered when it returns. perf shows it as user time at the
instruction behind the system call, and Strobe, where a hook knows the call, in the call. So a function of which perf
has most samples there is left out on both sides: it is a wrapper of a system call.

Of strobe's report the self CPU time counts, without the names in brackets, which stand for calls into the kernel or for
unknown time. The ten functions that perf finds hottest must have the same share in both, within the sampling error: two
shares p of n and m samples differ by less than 4 sqrt(p (1 - p) (1/n + 1/m)) in all but one of 16,000 cases. Half a
point is added, because the two count some time differently. Ticks and stops are Strobe's samples here: shares of CPU
time come from them, and ticks of threads that wait often stand for eight intervals.

`unseen` is the share of CPU time that no sample covers. It may be at most 5 %. Strobe takes at least 45 % of the
samples that fit into the user time at its interval, because threads other than main are sampled half as often."""
import math
import re
import subprocess
from collections import Counter

from images import cut_version, open_image, shorten

OURS = re.compile(r"libstrobe-preload|libunwind|/strobe$")
ITS_CALLS = ("syscall", "[vdso]")
UNKNOWN = ("[unseen]", "[off cpu]")
HALF_A_POINT = 0.005
MOST_UNSEEN = 0.05
LEAST_TAKEN = 0.45
PERF_PERIOD_NS = 997001  # not a multiple of Strobe's period, so that the two are not in step
FEWEST = 100
SYSCALL = b"\x0f\x05"  # x86-64
SAMPLE = re.compile(r"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+([0-9a-f]+) (.*) \((.*)\)\s*$")
MMAP = re.compile(r"PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*?\]: \S+ (.*)$")
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):(\d+)\):\((\d+):(\d+)\)")
EXEC = re.compile(r"PERF_RECORD_COMM exec: .*:(\d+)/\d+$")


class Perf:
    """User samples by function. The key is a tuple of the names that a function may have."""

    def __init__(self, data):
        self.functions, self.pids, self.of_engine = Counter(), set(), 0
        self.returns = Counter()  # samples at the instruction behind a system call
        self.maps, self.behind = {}, {}
        text = subprocess.run(["perf", "script", "-f", "-i", data, "-F", "comm,pid,tid,ip,sym,dso", "--show-mmap-events",
                               "--show-task-events"], capture_output=True, text=True, errors="replace",
                              check=False).stdout
        for line in text.splitlines():
            self._read_line(line)
        self.wrappers = {names for names, count in self.returns.items() if 2 * count > self.functions[names]}
        self.count = sum(count for names, count in self.functions.items() if names not in self.wrappers)

    def _read_line(self, line):
        if "PERF_RECORD_" in line:
            if found := MMAP.search(line):
                pid, start, size, offset, path = found.groups()
                self.maps.setdefault(pid, []).insert(0, (int(start, 16), int(size, 16), int(offset, 16), path))
            elif found := FORK.search(line):
                child, _, parent, _ = found.groups()
                if child != parent:
                    self.maps[child] = list(self.maps.get(parent, []))
            elif found := EXEC.search(line):
                self.maps[found[1]] = []
            return
        found = SAMPLE.match(line)
        if not found:
            return
        comm, pid, _, ip, symbol, dso = found.groups()
        if comm in ("strobe", "perf", "perf-exec", "measure"):
            return
        if OURS.search(dso) or comm.startswith("strobe"):
            self.of_engine += 1
            return
        self.pids.add(int(pid))
        names = self._find_names(pid, int(ip, 16), symbol, dso)
        if len(names) == 1 and names[0] in ITS_CALLS:
            self.of_engine += 1
        else:
            self.functions[names] += 1
            self.returns[names] += self._is_behind_syscall(pid, int(ip, 16))

    def _find_place(self, pid, ip):
        """Returns the file of the code and the offset in it, or (None, 0)."""
        for start, size, offset, path in self.maps.get(pid, []):
            if start <= ip < start + size:
                if path.startswith("/") and not path.startswith(("//", "/memfd:", "/dev/")):
                    return path, ip - start + offset
                break
        return None, 0

    def _is_behind_syscall(self, pid, ip):
        place = path, offset = self._find_place(pid, ip)
        if path and place not in self.behind:
            try:
                with open(path, "rb") as file:
                    file.seek(max(offset - len(SYSCALL), 0))
                    self.behind[place] = file.read(len(SYSCALL)) == SYSCALL
            except OSError:
                self.behind[place] = False
        return bool(path) and self.behind[place]

    def _find_names(self, pid, ip, symbol, dso):
        if dso == "[vdso]":
            return ("[vdso]",)
        path, offset = self._find_place(pid, ip)
        if path:
            return tuple(open_image(path).find_function(offset))
        return (shorten(re.sub(r"\+0x[0-9a-f]+$", "", symbol)) if symbol != "[unknown]" else "(no image)",)


class Ours:
    """Self CPU time by function, from the reports (`strobe report --json --top 1000000`) of all recorded processes."""

    def __init__(self, reports, interval_ns):
        self.functions, self.calls, self.unseen, self.of_engine = Counter(), 0, 0, 0
        sampled = ticks = 0
        for report in reports:
            sampled += report["events"]["sampled"]
            ticks += sum(report["events_by_kind"].get(kind, {"sampled": 0})["sampled"] for kind in ("cpu", "async"))
            for method in report["methods"]:
                name, spent, image = method["name"], method["self_cpu_ns"], method.get("image") or ""
                if name in UNKNOWN:
                    self.unseen += spent
                elif "vdso" in image or "vdso" in name or OURS.search(image) or name in ITS_CALLS:
                    self.of_engine += spent
                elif name.startswith("["):
                    self.calls += spent
                else:
                    self.functions[self._find_name(name, image)] += spent
        self.time = sum(self.functions.values())
        self.all = self.time + self.calls + self.unseen + self.of_engine
        self.taken = int(min(sampled, self.time / interval_ns))
        self.count = min(ticks, self.taken)  # ticks of threads that wait often stand for more than an interval

    @staticmethod
    def _find_name(name, image):
        """Returns the name in Perf's form. Code without a name counts for the last known function before it."""
        place = re.fullmatch(r".*\+0x([0-9a-f]+)", name)
        if not place:
            return shorten(name)
        return open_image(image).find_at(int(place[1], 16))[0] if image.startswith("/") else cut_version(name)


def compare_profiles(reports, perf, interval_ns):
    """Returns (verdict, short text, lines): verdict True, False, or None when there are too few samples."""
    ours = Ours(reports, interval_ns)
    wrappers = {name for names in perf.wrappers for name in names}
    time = ours.time - sum(ours.functions[name] for name in wrappers)
    kept = time / ours.time if ours.time else 0.0
    n, m = perf.count, int(ours.count * kept)
    head = f"{n} samples of perf and {perf.of_engine} of the engine, {m} of ours"
    if n < FEWEST:
        return None, "-", [f"hot: too few samples: {head}"]
    unseen = ours.unseen / ours.all if ours.all else 1.0
    lines, odd, worst = [], 0, 0.0
    shares = Counter()
    for names, count in perf.functions.items():
        known = [name for name in names if name in ours.functions]
        if names not in perf.wrappers:
            shares[known[0] if known else names[0]] += count
    for name, count in shares.most_common(10):
        p = count / n
        q = ours.functions[name] / time if time else 0.0
        mean = (p + q) / 2
        bound = 4 * math.sqrt(mean * (1 - mean) * (1 / n + 1 / max(m, 1))) + HALF_A_POINT
        outside = abs(p - q) > bound
        odd += outside
        worst = max(worst, abs(p - q) / bound)
        lines.append(f"{100 * p:6.2f} % {100 * q:6.2f} % bound {100 * bound:5.2f}  {name[:70]}"
                     f"{'   OUTSIDE' if outside else ''}")
    in_list = {name for name, _ in shares.most_common(10)}
    for name, spent in ours.functions.most_common(10):
        if name not in in_list and name not in wrappers and spent > 0.02 * time:
            lines.append(f"{100 * shares[name] / n:6.2f} % {100 * spent / time:6.2f} %              {name[:70]}"
                         "   (not among perf's ten)")
    left = sum(perf.functions[names] for names in perf.wrappers)
    head += f"; {left} of perf in wrappers of system calls; {100 * unseen:.1f} % unseen, {100 * ours.calls / max(ours.all, 1):.1f} % in calls"
    expected = n * PERF_PERIOD_NS / interval_ns
    taken = ours.taken * kept >= LEAST_TAKEN * expected
    if expected < FEWEST and not odd:
        return None, "-", [f"hot: too few samples: {head}"]
    good = not odd and unseen <= MOST_UNSEEN and taken
    short = f"{worst:.1f}" + (f" u{100 * unseen:.0f}%" if unseen > MOST_UNSEEN else "") + ("" if taken else " few")
    return good, short, [f"hot: {head}", "       perf   strobe", *("     " + line for line in lines)]
