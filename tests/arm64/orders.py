#!/usr/bin/env python3
"""Compares the memory orders of the capture half on arm64 with a stored list: the ordered loads and stores, atomic
updates and barriers that the compiler generated for each function.

    orders.py B [--update]     B: the arm64 build (`make cross`)

C11 defines what an order must do. Whether the instructions do it depends on the compiler and the processor. An order
that was weakened, in the source or by a compiler's flag, fails no test on a processor that is stronger than required.
So the instructions themselves are reviewed: a function whose forms differ from the list fails. After an intended
change, review the function's instructions, run this program with --update, and commit the list together with the
change.

A line of the list has a source file, a function (with the parts that the compiler split off), and the count of each
form in it, inlined functions included. cas8_acq_rel and similar names are calls into libgcc, which selects one
instruction or a loop by the processor ("-moutline-atomics" in the GCC manual). Relaxed loads and stores look like
plain ones and are not listed. The Arm Architecture Reference Manual, chapter C6, describes the forms.

Counts of another compiler or of other flags are not comparable; the program then compares nothing and states that.
Prints `N passed, N failed, N skipped` last, where each function and each planted weakening counts once. Exit status:
1 when one failed, 2 when the program could not run.
"""
import argparse
import collections
import os
import re
import shlex
import subprocess
import sys
import tempfile

LIST = os.path.join(os.path.dirname(__file__), "orders.txt")
ROOMS = ["engine/base", "engine/store", "engine/capture", "engine/method", "engine/method/matrix",
         "engine/method/netease", "engine/method/netease/art", "engine/method/rhea", "engine/method/rhea/art",
         "engine/backend/common/libc", "engine/backend/common/slots", "engine/backend/linux", "engine/backend/art",
         "engine/backend/art/hooks"]
OBJDUMP = "aarch64-linux-gnu-objdump"

FORM = re.compile(
    r"ld(a|l|ax|x)[rp][bh]?|ldap(r|ur)[bh]?|st(l|ll|lx|x)[rp][bh]?|stlur[bh]?"
    r"|(casp?|swp|(ld|st)(add|clr|set|eor|smax|smin|umax|umin))(a|l|al)?[bh]?")
BARRIER = re.compile(r"dmb|dsb|isb")
OUTLINED = re.compile(r"R_AARCH64_(?:CALL|JUMP)26\s+__aarch64_(\w+)")

# One weakening of each kind, planted in a copy of a file: its name, the original text and the new text.
PLANTED = [
    ("engine/store/ring.c", "strobe_store_release(&", "strobe_store_relaxed(&"),
    ("engine/store/ring.c", "strobe_load_acquire(&", "strobe_load_relaxed(&"),
    ("engine/store/ring.c", "strobe_fence_acquire()", "strobe_fence_signal()"),
    ("engine/store/ring.c", "strobe_fence_release()", "strobe_fence_signal()"),
    ("engine/store/stack_table.c", "strobe_cas_acq_rel(", "strobe_cas_relaxed("),
]


def die(text):
    print(f"orders: {text}", file=sys.stderr)
    sys.exit(2)


def disassembled(path):
    try:
        run = subprocess.run([OBJDUMP, "-dlr", "--no-show-raw-insn", path], capture_output=True, text=True)
    except OSError as e:
        die(f"{OBJDUMP}: {e.strerror}")
    if run.returncode:
        die(f"{OBJDUMP}: {run.stderr.strip()}")
    return run.stdout.splitlines()


def forms_of(path):
    """Returns {function: [(form, place in the source), ...]} of an object, in the order of its code."""
    found = collections.defaultdict(list)
    function = where = None
    for line in disassembled(path):
        symbol = re.match(r"[0-9a-f]+ <([^>]+)>:$", line)
        source = re.match(r"(\S+):(\d+)( \(discriminator \d+\))?$", line)
        code = re.match(r"\s+[0-9a-f]+:\t(\S+)\s*(\S*)", line)
        outlined = OUTLINED.search(line)
        if symbol:
            function = symbol.group(1).split(".")[0]   # strobe_ring_write.part.0 is a part of strobe_ring_write
        elif source:
            where = f"{os.path.relpath(source.group(1))}:{source.group(2)}"
        elif outlined:
            found[function].append((outlined.group(1), where))
        elif code and BARRIER.fullmatch(code.group(1)):
            found[function].append((".".join(filter(None, code.groups())), where))
        elif code and FORM.fullmatch(code.group(1)):
            found[function].append((code.group(1), where))
    return found


def counted(forms):
    counts = collections.Counter(form for form, _ in forms)
    return " ".join(f"{form}={counts[form]}" for form in sorted(counts))


def built_by(flags):
    """Returns the compiler and its options, on which the forms depend."""
    command = shlex.split(flags)
    run = subprocess.run([command[0], "-dumpversion"], capture_output=True, text=True)
    if run.returncode:
        die(f"{command[0]}: {run.stderr.strip()}")
    chosen = [word for word in command if re.match(r"-O|-m|-fsanitize|--coverage", word)]
    return " ".join([os.path.basename(command[0]), run.stdout.split(".")[0].strip(), *chosen])


def read_list():
    """Returns the compiler and options of the list, and {(file, function): forms}."""
    with open(LIST) as lines:
        text = [line.split(None, 2) for line in lines if line.strip() and not line.startswith("#")]
    if not text or text[0][0] != "by":
        die(f"{LIST}: expected a line `by COMPILER` first")
    return " ".join(text[0][1:]).strip(), {(file, function): forms.strip() for file, function, forms in text[1:]}


def write_list(by, now):
    with open(LIST) as lines:
        head = [line for line in lines if line.startswith("#")]
    with open(LIST, "w") as out:
        out.writelines(head)
        out.write(f"by {by}\n")
        for (file, function), forms in sorted(now.items()):
            out.write(f"{file} {function} {counted(forms)}\n")


def objects(build):
    for room in ROOMS:
        for folder, _, names in sorted(os.walk(os.path.join(build, "pic", room))):
            for name in sorted(names):
                if name.endswith(".o"):
                    path = os.path.join(folder, name)
                    yield path, os.path.relpath(path, os.path.join(build, "pic"))[:-2] + ".c"


def differences(expected, now):
    """Returns the names of functions that differ, each with the expected and the found forms."""
    for key in sorted(expected.keys() | now.keys()):
        found = now.get(key, [])
        if expected.get(key, "") != counted(found):
            yield key, expected.get(key, "none of them"), found


def show(key, want, found):
    print(f"FAIL {key[0]}: {key[1]}\n     expected  {want}\n     found     {counted(found) or 'none of them'}")
    for form, where in found:
        print(f"               {form:16} {where}")


def weakened(flags, source, strong, weak, expected):
    """Weakens the first occurrence of `strong`. Returns None when the comparison detects it, else the reason."""
    with open(source) as file:
        text = file.read()
    if strong not in text:
        return f"no {strong} in it"
    with tempfile.TemporaryDirectory() as folder:
        copy, made = os.path.join(folder, "planted.c"), os.path.join(folder, "planted.o")
        with open(copy, "w") as file:
            file.write(text.replace(strong, weak, 1))
        run = subprocess.run([*shlex.split(flags), "-fPIC", "-c", "-o", made, copy], capture_output=True, text=True)
        if run.returncode:
            return run.stderr
        now = {(source, function): forms for function, forms in forms_of(made).items()}
    before = {key: forms for key, forms in expected.items() if key[0] == source}
    return None if list(differences(before, now)) else "the list does not show it"


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("build")
    p.add_argument("--update", action="store_true")
    a = p.parse_args()
    try:
        with open(os.path.join(a.build, "flags")) as file:
            flags = file.read()
    except OSError as e:
        die(f"{a.build}/flags: {e.strerror}; `make cross` builds for arm64")
    by, now = built_by(flags), {}
    for path, source in objects(a.build):
        now.update(((source, function), forms) for function, forms in forms_of(path).items())
    if not now:
        die(f"{a.build}/pic: no object of {', '.join(ROOMS)} with an atomic operation in it")
    if a.update:
        write_list(by, now)
        print(f"orders: wrote {len(now)} functions, by {by}")
        return 0
    stored_by, expected = read_list()
    if by != stored_by:
        print(f"skipped: nothing compared, the list is of `{stored_by}`, this build of `{by}`")
        print("0 passed, 0 failed, 1 skipped")
        return 0

    failed = 0
    for key, want, found in differences(expected, now):
        show(key, want, found)
        failed += 1
    passed = len(expected.keys() | now.keys()) - failed
    if failed:
        print(f"If the code is right so: {sys.argv[0]} {a.build} --update")
    for source, strong, weak in PLANTED:
        why = weakened(flags, source, strong, weak, expected)
        if why:
            print(f"FAIL {source} with {weak} for {strong} is found: {why}")
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
