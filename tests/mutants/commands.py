"""The commands that kill mutants, as `Killed by:` lists them with ` | ` between:

    unit/DIR/test_NAME[:PATTERN]    a CMocka program, or those of its tests whose name matches
    sim/DIR/test_NAME[:PATTERN]     the same for a test of the lab
    explore WORDS                   build/strobe-lab explore WORDS: programs or groups of them, and options
    contract fakeNN MODE [CASE]     build/contract_art: one case of the contract for Android runtimes, or all cases
    suite NAME                      tests/NAME/run.sh
    swarm SCENARIO OPTIONS          tests/mutants/swarm: up to 1,000 seeds of `strobe run SCENARIO`; the row's
                                    `Invariant:` is the start of the violation, an extended regular expression"""
import os
import re
import shlex
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from table import Fault

BUILT = os.environ.get("B", "build")
EXPECTED = ("unit/DIR/test_NAME, sim/DIR/test_NAME, `explore WORDS`, `contract fakeNN MODE [CASE]`, `suite NAME`, or"
            " `swarm SCENARIO OPTIONS` with an `Invariant: `")


class Command:
    """A command that may kill a mutant."""

    def __init__(self, text, row):
        self.text, self.environment = text, {}
        self.kind, _, self.rest = text.partition(" ")
        self.test = re.fullmatch(r"((?:unit|sim)/\w+/test_\w+)(?::([\w*?]+))?", text)
        self.counted = r"PASSED  \] [1-9]" if self.test else None  # output that shows that it ran a test
        self.beside = []  # targets that it needs and that no mutant changes
        if self.test:
            self.set(f"{BUILT}/tests/{self.test[1]}", [f"{BUILT}/tests/{self.test[1]}"])
            if self.test[2]:
                self.environment["STROBE_TEST_ONLY"] = self.test[2]
        elif self.kind == "explore" and self.rest:
            self.set(f"{BUILT}/strobe-lab", [f"{BUILT}/strobe-lab", "explore", *shlex.split(self.rest)])
        elif self.kind == "contract" and re.fullmatch(r"fake\d\d \w+( \w+)?", self.rest):
            self.set(f"{BUILT}/contract_art", [f"{BUILT}/contract_art", *self.rest.split()])
            self.beside = [f"{BUILT}/art/{self.rest[4:6]}/libart.so", f"{BUILT}/libcontract-native.so"]
            self.environment["B"] = BUILT
            self.counted = r"^[1-9]\d* passed"
        elif self.kind == "suite" and re.fullmatch(r"\w+", self.rest):
            self.set("all", [f"tests/{self.rest}/run.sh"])
            self.environment["B"] = BUILT
        elif self.kind == "swarm" and self.rest and row.invariant:
            words = shlex.split(self.rest)
            self.set(f"{BUILT}/strobe-lab", ["tests/mutants/swarm", f"{BUILT}/strobe-lab", "BASE", row.invariant, *words])
            self.baseline_line = [self.target, "run", *words, "--seeds", "1..5", "-o", "swarm-out", "-f"]
        else:
            raise Fault(f"{row.place}: {row.name}: `{text}`: expected {EXPECTED}")

    def set(self, target, line):
        self.target, self.line, self.baseline_line = target, line, line

    def sources(self):
        """Returns regular expressions of the paths that the command consists of."""
        if self.test:
            return [re.escape(f"tests/{self.test[1]}.c")]
        if self.kind == "explore":
            return [re.escape(path) for name in self.programs() for path in explorer_sources(name)]
        if self.kind == "contract":
            wanted = set(self.rest.split()[2:])
            return [re.escape(path) for path, cases in contract_cases().items() if wanted <= cases]
        if self.kind == "suite":
            return [f"tests/{self.rest}/.*"]
        return [re.escape(shlex.split(self.rest)[0]), "tests/mutants/swarm"]

    def programs(self):
        """Returns the words of `explore` that are no options."""
        words = shlex.split(self.rest)
        return [word for before, word in zip(["", *words], words) if word[0] != "-" and before[:1] != "-"]

    def fault(self):
        """Returns what is missing in this tree, or ""."""
        found = self.sources()
        if self.test:
            path = Path(f"tests/{self.test[1]}.c")
            if not path.is_file():
                return f"a file {path}"
            if self.test[2] and not any(fnmatchcase(name, self.test[2]) for name in names_in(path)):
                return f"a test {self.test[2]} in {path}"
        elif self.kind == "explore":
            missing = [name for name in self.programs() if not explorer_sources(name)]
            if missing or not found:
                return f"a program or group of tests/explore/programs.c, not {' '.join(missing)}"
        elif self.kind == "contract" and not found:
            return f"a case {self.rest} in tests/contract_art"
        elif self.kind == "suite" and not Path(f"tests/{self.rest}/run.sh").is_file():
            return f"a suite tests/{self.rest}/run.sh"
        elif self.kind == "swarm" and not Path(shlex.split(self.rest)[0]).is_file():
            return f"a scenario {shlex.split(self.rest)[0]}"
        return ""


def commands_of(row):
    return [Command(text.strip(), row) for text in row.killed_by.split(" | ")]


@lru_cache(maxsize=None)
def names_in(path):
    """Returns the functions that a test file defines or passes to a macro that defines or lists tests."""
    return set(re.findall(r"^(?:static void |[ {]*\w+\()(\w+)", path.read_text(), re.MULTILINE))


@lru_cache(maxsize=None)
def contract_cases():
    """Returns the functions of each source of the contract for Android runtimes."""
    return {str(path): names_in(path) for path in sorted(Path("tests/contract_art").rglob("*.c"))}


@lru_cache(maxsize=None)
def explorer_texts():
    return {str(path): path.read_text() for path in sorted(Path("tests/explore").rglob("*.c"))}


@lru_cache(maxsize=None)
def explorer_sources(name):
    """Returns the sources that hold a program GROUP/NAME, or any program of a group."""
    quoted = f'"{name}"' if "/" in name else f'"{name}/'
    return [path for path, text in explorer_texts().items() if quoted in text]
