"""Reads tables of mutants, and makes the changes that their rows state.

A table is a text file of rows with an empty line between them. Lines that begin with `#` are comments:

    Mutant: ring_turn_ignores_the_age
    Breaks: S-12, a chunk that was sealed a moment ago is overwritten
    Killed by: unit/store/test_ring:a_claim* | explore ring/turns
    In: engine/store/ring.c ring_claim_chunk
      bool old = age > half_lap;
    - if (old && is_sealed(state))
    + if (is_sealed(state))

`Invariant: TEXT` may follow `Killed by:`; the command `swarm` needs it (harness.py).

`In:` names a file and a function; a macro, a type or a table at the top level of the file has a name, too. Without a
name the whole file is searched. The lines below it state a change: `-` original text, `+` mutated text, and two blanks
before text that only shows the place. Original text and place must occur exactly once, next to each other, in what
`In:` names. Only tokens are compared: blanks, line ends and comments may differ. A line need not be a whole line of the
file. Without `-` lines, the `+` lines are added behind the place, or before it when they come first. A row may have
several `In:`; all changes are made together."""
import bisect
import difflib
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from csource import CLOSING, DIRECTIVE, TOKEN, Token

HEAD = {"Mutant": "name", "Breaks": "breaks", "Killed by": "killed_by", "Invariant": "invariant"}
REQUIRED = ("Breaks", "Killed by")


class Fault(Exception):
    """A text for the user: the place, and what was expected there."""


@dataclass
class Change:
    path: str
    within: str                                  # name of a function or another item; "": the whole file
    lines: list = field(default_factory=list)    # (mark, text); mark is one of "-", "+", " "

    def text(self):
        """The change as it stands in a table."""
        return "".join([f"In: {self.path} {self.within}".rstrip() + "\n",
                        *(f"{mark} {text}".rstrip() + "\n" for mark, text in self.lines)])


@dataclass
class Row:
    place: str               # TABLE:LINE
    name: str = ""
    breaks: str = ""
    killed_by: str = ""
    invariant: str = ""
    changes: list = field(default_factory=list)

    def text(self):
        """The row as it stands in a table."""
        return "".join([*(f"{word}: {getattr(self, key)}\n" for word, key in HEAD.items() if getattr(self, key)),
                        *(change.text() for change in self.changes)])

    @property
    def paths(self):
        return sorted({change.path for change in self.changes})

    def mutate(self, root):
        """Returns the mutated text of each changed file below `root`, by path."""
        by_path = defaultdict(list)
        for change in self.changes:
            by_path[change.path].append(change)
        return {path: self.mutate_text(source_of(root, path, self), changes) for path, changes in by_path.items()}

    def mutate_text(self, source, changes):
        edits = sorted(edit for change in changes for edit in edits_of(change, source, self))
        text = source.text
        for start, end, new in reversed(edits):
            text = text[:start] + new + text[end:]
        if text == source.text:
            raise Fault(f"{self.place}: {self.name}: expected a change of {changes[0].path}")
        return text


# ---- tables


def read_table(path, text=None):
    """Returns the rows of a table."""
    rows, row = [], None
    for number, line in enumerate((Path(path).read_text() if text is None else text).splitlines(), 1):
        if line.startswith("#"):
            continue
        if not line:
            row = None
            continue
        if row is None:
            row = Row(f"{path}:{number}")
            rows.append(row)
        read_line(row, f"{path}:{number}", line)
    for row in rows:
        check_row(row)
    return rows


def read_line(row, place, line):
    word, colon, text = line.partition(": ")
    if line[0] in "-+ ":
        if not row.changes:
            raise Fault(f"{place}: expected `In: FILE FUNCTION` before the lines of a change")
        if line[1:2] not in ("", " "):
            raise Fault(f"{place}: expected a blank behind `{line[0]}`")
        row.changes[-1].lines.append((line[0], line[2:]))
    elif not row.name and word != "Mutant":
        raise Fault(f"{place}: expected `Mutant: NAME`")
    elif word == "In" and re.fullmatch(r"\S+( \w+)?", text):
        path, _, within = text.partition(" ")
        row.changes.append(Change(path, within))
    elif not colon or word not in HEAD or not text.strip() or row.changes or getattr(row, HEAD[word]):
        raise Fault(f"{place}: expected one of `{': `, `'.join(HEAD)}: ` and a text, each once, then `In: FILE FUNCTION`")
    else:
        setattr(row, HEAD[word], text.strip())


def check_row(row):
    for word in REQUIRED:
        if not getattr(row, HEAD[word]):
            raise Fault(f"{row.place}: {row.name}: expected a line `{word}: TEXT`")
    if not re.fullmatch(r"\w+", row.name):
        raise Fault(f"{row.place}: {row.name}: expected a name of letters, digits and `_`")
    if not row.changes or not all(any(mark in "-+" for mark, _ in change.lines) for change in row.changes):
        raise Fault(f"{row.place}: {row.name}: expected `In: FILE FUNCTION` and lines with `-` or `+` below it")


def read_tables(place):
    """Returns the rows of a table, or of all tables of a folder, which holds nothing else."""
    if not place.exists():
        raise Fault(f"{place}: expected a table, or a folder of tables")
    paths = sorted(place.iterdir()) if place.is_dir() else [place]
    for path in paths:
        if path.suffix != ".txt":
            raise Fault(f"{path}: expected a table, NAME.txt")
    rows, seen = [row for path in paths for row in read_table(path)], {}
    for row in rows:
        if row.name in seen:
            raise Fault(f"{row.place}: {row.name}: expected another name: {seen[row.name]} has this one")
        seen[row.name] = row.place
    return rows


# ---- sources


class Source:
    """Tokens and named items of a file."""

    def __init__(self, text):
        self.text = text
        found = [match for match in TOKEN.finditer(text) if match.lastgroup not in ("space", "comment")]
        self.words = [match[0] for match in found]
        self.starts = [match.start() for match in found]
        self.ends = [match.end() for match in found]
        self.items = defaultdict(list)    # name: list of (start, end) in the text
        self.add_items(self.outside_directives(found))

    def outside_directives(self, found):
        """Returns the tokens outside of directives of the preprocessor. Each macro becomes an item."""
        kept, at = [], 0
        for directive in re.finditer(f"^{DIRECTIVE.pattern}", self.text, re.MULTILINE):
            name = re.match(r"[ \t]*#[ \t]*define[ \t]+(\w+)", directive[0])
            if name:
                self.items[name[1]].append(directive.span())
            first = bisect.bisect_left(self.starts, directive.start())
            kept += found[at:first]
            at = max(at, bisect.bisect_left(self.starts, directive.end()))
        return [Token(match.lastgroup, match[0], match.start()) for match in kept + found[at:]]

    def add_items(self, tokens):
        """Splits the top level into items. An item ends with its semicolon, or with the body of a function."""
        at = 0
        while at < len(tokens):
            begin, groups, at, is_function = at, [], at, False
            while at < len(tokens) and tokens[at].text != ";":
                if tokens[at].text in CLOSING:
                    close = skip_group(tokens, at)
                    is_function = tokens[at].text == "{" and at > begin and tokens[at - 1].text == ")"
                    groups.append((at, close))
                    at = close
                    if is_function:
                        break
                at += 1
            last = tokens[min(at, len(tokens) - 1)]
            name = name_of_function(tokens, groups[:-1]) if is_function else name_of_data(tokens[begin:at])
            self.items[name].append((tokens[begin].start, last.end))
            at += 1

    def item_at(self, start, end):
        """Returns the name of the item that holds [start, end), or "" when none does."""
        holders = [(to - at, name) for name, spans in self.items.items() for at, to in spans if at <= start and end <= to]
        return min(holders)[1] if holders else ""

    def line_start(self, at):
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at):
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end


def skip_group(tokens, at):
    """Returns the index of the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        if tokens[at].kind == "mark":
            depth += (tokens[at].text in "([{") - (tokens[at].text in ")]}")
        if not depth:
            return at
        at += 1
    return at - 1


def name_of_function(tokens, groups):
    """The name before the parameters, or the last word in `HOOK(type, name)(parameters)`."""
    for begin, _ in reversed(groups):
        before = tokens[begin - 1]
        if before.text == ")":
            return tokens[begin - 2].text
        if before.kind == "name" and before.text not in ("__attribute__", "asm", "__asm__"):
            return before.text
    return ""


def name_of_data(tokens):
    """The name of a type, a variable or a declared function."""
    name = ""
    for i, token in enumerate(tokens):
        if token.text in ("{", "=", "[", "(", ":"):
            break
        if token.kind == "name":
            name = token.text
    return name


@lru_cache(maxsize=512)
def parse_source(text):
    return Source(text)


def source_of(root, path, row):
    try:
        return parse_source((Path(root) / path).read_text())
    except OSError:
        raise Fault(f"{row.place}: {row.name}: expected a file {path}") from None


# ---- matching


def edits_of(change, source, row):
    """Returns the edits (start, end, text) of a change. It must match exactly once."""
    old = [(number, text) for number, (mark, text) in enumerate(change.lines) if mark != "+"]
    words, line_of = [], []
    for number, text in tokens_by_line(old):
        words.append(text)
        line_of.append(number)
    where = f"{change.path} {change.within}".strip()
    if not words:
        raise Fault(f"{row.place}: {row.name}: expected original text, or a place, below `In: {where}`")
    if change.within and change.within not in source.items:
        raise Fault(f"{row.place}: {row.name}: expected a function {change.within} in {change.path}")
    found = occurrences(source, words, source.items[change.within] if change.within else [(0, len(source.text))])
    if len(found) != 1:
        raise Fault(f"{row.place}: {row.name}: expected its original text once in {where}, found it {len(found)} times")
    return list(edits_at(change, source, found[0], line_of))


def tokens_by_line(lines):
    """Yields (line number, token) of numbered lines; a token may begin in one line and end in another."""
    text = "\n".join(text for _, text in lines)
    begins, at = [], 0
    for _, line in lines:
        begins.append(at)
        at += len(line) + 1
    for match in TOKEN.finditer(text):
        if match.lastgroup not in ("space", "comment"):
            yield lines[bisect.bisect_right(begins, match.start()) - 1][0], match[0]


def occurrences(source, words, spans):
    """Returns the index of the first token of each place where `words` stand."""
    found = []
    for start, end in spans:
        low, high = bisect.bisect_left(source.starts, start), bisect.bisect_left(source.starts, end)
        at, last = low, high - len(words)
        while at <= last:
            try:
                at = source.words.index(words[0], at, last + 1)
            except ValueError:
                break
            if source.words[at:at + len(words)] == words:
                found.append(at)
            at += 1
    return found


def edits_at(change, source, first, line_of):
    """Yields the edits of a change whose original tokens begin at token `first` of the source."""
    base = indent_of(change.lines[line_of[0]][1])
    shift = indent_of(source.text[source.line_start(source.starts[first]):]) - base
    for group in groups_of(change.lines):
        marked = [i for i, number in enumerate(line_of) if number in group and change.lines[number][0] == "-"]
        new = [indented(change.lines[number][1], shift) for number in group if change.lines[number][0] == "+"]
        before = [i for i, number in enumerate(line_of) if number < group[0]]
        if marked:
            yield replace(source, source.starts[first + marked[0]], source.ends[first + marked[-1]], new)
        elif before:
            yield add_behind(source, source.ends[first + before[-1]], new)
        else:
            yield add_before(source, source.starts[first], new)


def groups_of(lines):
    """Returns the runs of changed lines, as lists of line numbers."""
    groups = []
    for number, (mark, _) in enumerate(lines):
        if mark == " ":
            continue
        if groups and groups[-1][-1] == number - 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def indent_of(text):
    return len(text) - len(text.lstrip(" "))


def indented(text, shift):
    return " " * max(0, indent_of(text) + shift) + text.lstrip(" ") if text.strip() else ""


def is_blank(text):
    """Whether a text has no token."""
    return all(match.lastgroup in ("space", "comment") for match in TOKEN.finditer(text))


def replace(source, start, end, new):
    begin, stop = source.line_start(start), source.line_end(end)
    if new:
        return start, end, "\n".join(new).lstrip(" ")
    if not source.text[begin:start].strip() and is_blank(source.text[end:stop + 1]):
        return begin, min(stop + 1, len(source.text)), ""
    return start, end, ""


def add_behind(source, at, new):
    stop = source.line_end(at)
    if is_blank(source.text[at:stop + 1]):
        return stop, stop, "\n" + "\n".join(new)
    return at, at, " " + "\n".join(new).lstrip(" ")


def add_before(source, at, new):
    begin = source.line_start(at)
    if not source.text[begin:at].strip():
        return begin, begin, "\n".join(new) + "\n"
    return at, at, "\n".join(new).lstrip(" ") + " "


# ---- from texts to changes


def changes_between(path, old, new):
    """Returns the changes that turn `old` into `new`, except in comments. Each has as few lines around it as make its
    place unique."""
    made = Rewrite(path, old, new)
    return [made.smallest_change(cluster) for cluster in made.clusters() if made.has_tokens(cluster)]


class Rewrite:
    NEAR = 3    # changes with at most as many equal lines between are one

    def __init__(self, path, old, new):
        self.path, self.source, self.old, self.new = path, parse_source(old), old.splitlines(), new.splitlines()
        self.bare = bare_lines(old)
        self.begins = [0]
        for line in self.old:
            self.begins.append(self.begins[-1] + len(line) + 1)

    def clusters(self):
        """Returns runs of difflib's opcodes that belong to one change."""
        found = []
        for code in difflib.SequenceMatcher(None, self.old, self.new, autojunk=False).get_opcodes():
            if code[0] == "equal":
                continue
            if found and code[1] - found[-1][-1][2] <= self.NEAR and self.item([*found[-1], code]):
                found[-1].append(code)
            else:
                found.append([code])
        return found

    def has_tokens(self, cluster):
        return any(self.bare[i].strip() for _, i, to, _, _ in cluster for i in range(i, to)) or \
            any(not is_blank(line) for _, _, _, j, to in cluster for line in self.new[j:to])

    def item(self, cluster):
        """Returns the name of the item that holds a cluster, or ""."""
        lines = [i for i in range(cluster[0][1], cluster[-1][2]) if self.bare[i].strip()]
        if not lines:
            at = self.begins[cluster[0][1]]
            return self.source.item_at(at, at)
        return self.source.item_at(self.begins[lines[0]] + indent_of(self.bare[lines[0]]),
                                   self.begins[lines[-1]] + len(self.bare[lines[-1]]))

    def smallest_change(self, cluster):
        within, first, last = self.item(cluster), cluster[0], cluster[-1]
        above = [i for i in range(first[1] - 1, -1, -1) if self.bare[i].strip()]
        below = [i for i in range(last[2], len(self.old)) if self.bare[i].strip()]
        wanted = "\n".join([*self.old[:first[1]], *self.new[first[3]:last[4]], *self.old[last[2]:]]) + "\n"
        core = self.core(cluster)
        for size in range(len(self.old)):
            close = None
            for down in range(size + 1):
                lines = [*((" ", self.bare[i]) for i in reversed(above[:size - down])), *core,
                         *((" ", self.bare[i]) for i in below[:down])]
                change = Change(self.path, within, dedented(lines))
                try:
                    made = Row("", changes=[change]).mutate_text(self.source, [change])
                except Fault:
                    continue
                if made == wanted:
                    return change
                if not close and Source(made).words == Source(wanted).words:
                    close = change
            if close:
                return close
        raise Fault(f"{self.path}:{first[1] + 1}: no lines around the change make its place unique")

    def core(self, cluster):
        """Returns the lines of a cluster, without comments that both sides have at the end."""
        lines, at = [], cluster[0][1]
        for _, i, i_to, j, j_to in cluster:
            lines += [(" ", self.bare[k]) for k in range(at, i) if self.bare[k].strip()]
            minus = [k for k in range(i, i_to) if self.bare[k].strip()]
            plus = self.new[j:j_to]
            tail = self.old[minus[-1]][len(self.bare[minus[-1]]):] if minus else ""
            if plus and tail and plus[-1].endswith(tail):
                plus[-1] = plus[-1][:-len(tail)]
            lines += [("-", self.bare[k]) for k in minus]
            lines += [("+", line) for line in plus] if not is_blank("\n".join(plus)) else []
            at = i_to
        return lines


def bare_lines(text):
    """Returns the lines of a text without comments, and without the backslash that continues a line."""
    bare = TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m.lastgroup == "comment" else m[0], text)
    return [line.rstrip(" \\") for line in bare.splitlines()]


def dedented(lines):
    least = min(indent_of(text) for _, text in lines if text.strip())
    return [(mark, text[least:] if text.strip() else "") for mark, text in lines]
