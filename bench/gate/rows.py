"""What the gate measures: one row for each driver, or mode of a driver."""
import lzma
import os
import subprocess

HOME = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DRIVERS = ("gate-driver", "gate-lab", "gate-method", "gate-embed")   # programs with modes (modes.h)

# Directories of the capture half that no driver runs, and why.
NOT_DRIVEN = {
    "engine/backend/sdk/bionic": "linked into the library for Android only",
    "engine/backend/sdk/darwin": "linked into the library for iOS only",
}


class Row:
    """A measured command.

    name      the name in the table and in `Gate:` lines
    targets   files below B that it needs
    command   its words; {B} is the build directory, {work} an empty directory. Both trees read the same inputs:
              {scenarios} of this tree, and {inputs}, see unpack_inputs
    counted   the program whose process is counted, when the command starts several
    within    count only inside this function; "" = the whole process
    watched   directories whose instructions are compared; "" = all
    session, trace  files below {work} that the command writes
    memory    measure memory and allocations, too
    omitted   leave out threads that run this function: what they do depends on the machine's clock
    """

    def __init__(self, name, targets, command, **more):
        self.name, self.targets, self.command = name, targets, command
        self.counted = more.get("counted", os.path.basename(command[0]))
        self.within = more.get("within", "")
        self.watched = more.get("watched", "")
        self.session, self.trace = more.get("session"), more.get("trace")
        self.memory, self.omitted = more.get("memory", False), more.get("omitted")

    def words(self, words, build, work, inputs):
        scenarios = os.path.join(HOME, "fixtures", "scenarios")
        return [w.format(B=build, work=work, inputs=inputs, scenarios=scenarios) for w in words]


def mode_rows(build, environment):
    """Returns a row for each mode of the drivers that are built."""
    rows = []
    for driver in DRIVERS:
        program = os.path.join(build, "bench", driver)
        if not os.path.exists(program):
            continue
        listed = subprocess.run([program, "modes"], env=environment, capture_output=True, text=True)
        if listed.returncode or not listed.stdout:
            raise RuntimeError(f"{program} modes: exit status {listed.returncode}: {listed.stderr.strip()}")
        rows += [Row(mode, [f"bench/{driver}"], [f"{{B}}/bench/{driver}", mode], within=f"measured_{mode}")
                 for mode in listed.stdout.split()]
    return rows


# No figure is the size of a recorded program's trace, because it depends on the number of digits of process ids.
def recorded(name, program, *options):
    return Row(name, ["strobe", "libstrobe-preload.so", f"bench/{program}"],
               ["{B}/strobe", "record", "-q", "--no-convert", *options, "-o", "{work}/s.strobe", "--",
                f"{{B}}/bench/{program}"],
               counted=program, watched="engine/", session="s.strobe", memory=True, omitted="run_own_thread")


def played(name, player, targets, scenario, *options):
    return Row(name, ["strobe-lab", player, *targets],
               ["{B}/strobe-lab", "run", f"{{scenarios}}/{scenario}.scn", *options, "--seed", "1", "-o", "{work}"],
               counted=player, watched="engine/", session="session.strobe", trace="trace.pftrace", memory=True)


def converted(name, session):
    return Row(name, ["strobe"],
               ["{B}/strobe", "convert", f"{{inputs}}/{session}.strobe", "-o", "{work}/t.perfetto-trace"],
               trace="t.perfetto-trace", memory=True)


FAKE = ("art/30/libart.so", "libstrobe-app.so", "libstrobe-binder.so", "libapp.so")
COMMANDS = [
    recorded("record", "gate-program", "--async-interval", "0"),
    recorded("calls", "gate-program-calls", "--method"),
    played("art", "strobe-player-virtual", FAKE, "album", "--runtime", "fake30"),
    played("art-netease", "strobe-player-virtual", FAKE, "album", "--runtime", "fake30", "--policy", "netease"),
    played("mach", "strobe-player-virtual-mach", (), "ios_launch", "--runtime", "mach"),
    played("simulated", "strobe-lab", (), "album"),
    converted("convert", "ordinary"),
    converted("convert-managed", "managed"),
]
LOADED = ("lib/libstrobe-capture.so.0", "bench/libgate-clock.so", "cutils/26/libcutils.so")   # by those programs
TARGETS = sorted({t for row in COMMANDS for t in row.targets} | {f"bench/{d}" for d in DRIVERS})


def capture_directories():
    """Returns the directories of the tree with sources that run in a traced process."""
    reading = ("engine/util", "engine/trace", "engine/watch", "engine/cmd")
    found = set()
    for directory, _, files in os.walk(os.path.join(HOME, "engine")):
        path = os.path.relpath(directory, HOME)
        is_reading = any(path == r or path.startswith(r + "/") for r in reading)
        if not is_reading and any(f.endswith((".c", ".S")) for f in files):
            found.add(path)
    return found


def unpack_inputs(folder):
    """Unpacks the sessions that both trees convert."""
    for session in ("ordinary", "managed"):
        with lzma.open(os.path.join(HOME, "fixtures", "sessions", session + ".strobe.xz")) as packed, \
                open(os.path.join(folder, session + ".strobe"), "wb") as out:
            out.write(packed.read())
