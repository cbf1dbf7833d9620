"""Tests table.py, commands.py and match.py: where a row fits, what it makes of a file, and what is said of a bad row."""
import subprocess
import sys
import tempfile
from pathlib import Path

from table import Fault, changes_between, parse_source, read_table, read_tables

SOURCE = """\
#define TWICE(x) ((x) * 2)
static const int table[] = {1, 2};

static int f(int a)
{
    if (a < 1) /* low */
        return low(a,
                   1);
    a = 3; /* here */
    return a;
}

HOOK(int, g)(int a)
{
    a = 3;
    a = 3;
    return a;
}
"""
HEAD = "Mutant: one\nBreaks: a rule\nKilled by: unit/base/test_base\n"
results = []


def check(name, good, shown=""):
    results.append(good)
    if not good:
        print(f"FAIL {name}: {shown}")


def mutate(change):
    row = read_table("t", f"{HEAD}In: f.c {change}\n")[0]
    try:
        return row.mutate_text(parse_source(SOURCE), row.changes)
    except Fault as fault:
        return str(fault)


def makes(name, change, old, new):
    """The change replaces `old` in the source, which stands there once, by `new`."""
    assert SOURCE.count(old) == 1
    made = mutate(change)
    check(name, made == SOURCE.replace(old, new), made)


def says(name, made, text):
    check(name, text in made, made)


def changes():
    makes("a statement is found in the function that the row names", "f\n- a = 3;\n+ a = 4;", "a = 3; /* here */",
          "a = 4; /* here */")
    makes("blanks, line ends and comments may differ", "f\n- return low( a, 1 );\n+ return 0;",
          "return low(a,\n                   1);", "return 0;")
    makes("a part of a line can be replaced", "f\n- a < 1\n+ a <= 1", "a < 1", "a <= 1")
    makes("a removed statement takes its line and comment along", "f\n- a = 3;", "    a = 3; /* here */\n", "")
    makes("added lines have the indentation of their place", "f\n  a = 3;\n+ if (a)\n+     a++;", "/* here */\n",
          "/* here */\n    if (a)\n        a++;\n")
    makes("lines can be added before their place", "f\n+ a++;\n  if (a < 1)", "    if (a", "    a++;\n    if (a")
    makes("lines around a statement select one of several", "g\n  a = 3;\n- a = 3;\n  return a;",
          "a = 3;\n    a = 3;\n    return", "a = 3;\n    return")
    makes("a macro can be changed", "TWICE\n- * 2\n+ * 3", "(x) * 2", "(x) * 3")
    makes("a table can be changed", "table\n- 2\n+ 3", "1, 2", "1, 3")
    makes("a row may change two places", "f\n- a < 1\n+ a < 2\nIn: f.c TWICE\n- 2\n+ 2", "a < 1", "a < 2")


def bad_rows():
    says("a text that is not there", mutate("f\n- a = 5;"), "t:1: one: expected its original text once in f.c f, found it 0 times")
    says("a text that is there twice", mutate("g\n- a = 3;"), "found it 2 times")
    says("a text of another function", mutate("g\n- a < 1\n+ a"), "found it 0 times")
    says("a function that is not there", mutate("h\n- a = 3;"), "t:1: one: expected a function h in f.c")
    says("a row that changes nothing", mutate("f\n- a = 3;\n+ a = 3;"), "t:1: one: expected a change of f.c")
    for name, text, said in (
            ("a line of no kind", f"{HEAD}Killer: x\n", "t:4: expected one of"),
            ("a word given twice", f"{HEAD}Breaks: x\n", "t:4: expected one of"),
            ("a row without a change", HEAD, "t:1: one: expected `In: FILE FUNCTION`"),
            ("a change without a place", f"{HEAD}- a;\n", "t:4: expected `In: FILE FUNCTION`"),
            ("a row without a name", "\n# x\n\nBreaks: x\n", "t:4: expected `Mutant: NAME`")):
        try:
            read_table("t", text)
            check(name, False, "no fault")
        except Fault as fault:
            says(name, str(fault), said)


def folders():
    """What is no table in a folder of tables is reported, because its rows would never run."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_text(f"{HEAD}In: f.c f\n- a = 3;\n")
        check("a folder of tables is read", len(read_tables(Path(folder))) == 1)
        Path(folder, "b.patch").write_text("")
        try:
            read_tables(Path(folder))
            check("a file that is no table", False, "no fault")
        except Fault as fault:
            says("a file that is no table", str(fault), "b.patch: expected a table, NAME.txt")


def differences():
    """What changes_between makes of two texts does the same again, although each text stands there several times."""
    for old, new in (("    a = 3;\n    return", "    a = 4;\n    return"), ("    a = 3;\n    a = 3;\n", "    a = 3;\n"),
                     ("    return a;\n}\n\nHOOK", "    a++;\n    return a;\n}\n\nHOOK"), ("(x) * 2", "(x) * 3"),
                     ("{\n    a = 3;", "{\n    a++;\n    a = 3;")):
        wanted = SOURCE.replace(old, new)
        assert wanted != SOURCE
        text = HEAD + "".join(change.text() for change in changes_between("f.c", SOURCE, wanted))
        row = read_table("t", text)[0]
        made = row.mutate_text(parse_source(SOURCE), row.changes)
        check(f"the row of a difference makes it: {new!r}", parse_source(made).words == parse_source(wanted).words, text)
        check(f"a written row is read as it was: {new!r}", row.text() == text, text)


def matches():
    """match.py names table, row and what is missing."""
    change = "In: engine/base/mix.h strobe_mix64\n- return\n+ return 1 +\n"
    for killer, said in (("unit/base/test_base", "1 passed, 0 failed"),
                         ("unit/base/test_none", "one: expected a file tests/unit/base/test_none.c"),
                         ("unit/base/test_base:no_such_*", "one: expected a test no_such_* in tests/unit/base/test_base.c"),
                         ("explore ring/none", "one: expected a program or group of tests/explore/programs.c, not ring/none"),
                         ("contract fake30 quick no_such_case", "one: expected a case fake30 quick no_such_case"),
                         ("suite nothing", "one: expected a suite tests/nothing/run.sh"),
                         ("make all", "one: `make all`: expected unit/DIR/test_NAME")):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "t.txt")
            table.write_text(HEAD.replace("unit/base/test_base", killer) + change)
            done = subprocess.run([sys.executable, "tests/mutants/match.py", table], stdout=subprocess.PIPE, text=True)
        says(f"match.py judges `{killer}`", done.stdout, said)
        check(f"match.py's exit status for `{killer}`", done.returncode == (said[:1] != "1"), done.returncode)


def main():
    changes()
    bad_rows()
    folders()
    differences()
    matches()
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


main()
