"""Parses C as far as mutation needs: tokens with their positions, functions, statements, and ranges of expressions.

This is no compiler. When it mistakes other text for an expression, the mutation does not compile and is discarded.
Comments, strings, preprocessor lines, types and static asserts are never part of an expression here."""
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"""
    (?P<space>\s+|\\\n) | (?P<comment>/\*.*?\*/|//[^\n]*) | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*') |
    (?P<number>\.?[0-9](?:[eEpP][-+]|[\w.])*) | (?P<name>[A-Za-z_]\w*) |
    (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.)""", re.VERBOSE | re.DOTALL)
DIRECTIVE = re.compile(r"[ \t]*#(?:[^\n\\]|\\\n|\\.)*")
TYPES = set("void char short int long float double signed unsigned bool struct union enum const volatile static extern "
            "register typedef _Thread_local alignas _Alignas _Static_assert __extension__ inline _Bool".split())
TYPE_NAME = re.compile(r"\w+_t$|strobe_a\d+$|FILE$|atomic_\w+$")
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self):
        return self.start + len(self.text)


@dataclass
class Function:
    """The parts of a function that can be mutated. Ranges are of token indices, [from, to)."""
    name: str
    expressions: list = field(default_factory=list)
    conditions: list = field(default_factory=list)    # of if, while, for: also in expressions
    statements: list = field(default_factory=list)    # expression statements with their semicolon: also in expressions
    returns: list = field(default_factory=list)       # from `return` to its semicolon, included
    jumps: list = field(default_factory=list)         # index of a `break` or `continue`


def tokens_of(text):
    found, at, line_begins = [], 0, True
    while at < len(text):
        directive = DIRECTIVE.match(text, at) if line_begins else None
        if directive:
            at = directive.end()
            continue
        match = TOKEN.match(text, at)
        if match.lastgroup not in ("space", "comment"):
            found.append(Token(match.lastgroup, match[0], at))
        at = match.end()
        line_begins = "\n" in match[0] if match.lastgroup == "space" else match.lastgroup == "comment" and line_begins
    return found


class Source:
    """The functions of a file."""

    def __init__(self, text):
        self.text, self.tokens = text, tokens_of(text)
        self.partner = self.pair()
        self.functions = []
        at = 0
        while at < len(self.tokens):
            if self.is_(at, "{") and self.is_(at - 1, ")"):
                name = self.tokens[self.partner[at - 1] - 1]
                if name.kind == "name":
                    self.function = Function(name.text)
                    self.block(at)
                    self.functions.append(self.function)
                at = self.partner[at]
            elif self.is_(at, "{"):
                at = self.partner[at]
            at += 1

    def pair(self):
        """Maps the index of each bracket to that of its partner."""
        partner, stack = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind == "mark" and token.text in CLOSING:
                stack.append(i)
            elif token.kind == "mark" and token.text in CLOSING.values():
                partner[i] = stack.pop()
                partner[partner[i]] = i
        return partner

    def is_(self, at, text):
        return 0 <= at < len(self.tokens) and self.tokens[at].text == text and self.tokens[at].kind != "string"

    def skip(self, at, *ends):
        """Returns the first token from `at` on that is in `ends` and not within brackets that begin after `at`."""
        while at < len(self.tokens) and self.tokens[at].text not in ends:
            at = self.partner[at] + 1 if self.tokens[at].text in CLOSING else at + 1
        return at

    def block(self, at):
        end, at = self.partner[at], at + 1
        while at < end:
            at = self.statement(at)
        return end + 1

    def statement(self, at):
        """Records the parts of the statement that begins at `at`. Returns the index after it."""
        word, f = self.tokens[at].text, self.function
        if word == "{":
            return self.block(at)
        if word in ("if", "while", "switch"):
            close = self.partner[at + 1]
            f.expressions.append((at + 2, close))
            if word != "switch":
                f.conditions.append((at + 2, close))
            return self.statement(close + 1)
        if word == "for":
            return self.loop(at)
        if word == "do":
            at = self.statement(at + 1)
            close = self.partner[at + 1]
            f.expressions.append((at + 2, close))
            f.conditions.append((at + 2, close))
            return close + 2
        if word == "else":
            return self.statement(at + 1)
        if word in ("case", "default"):
            return self.skip(at, ":") + 1
        if self.tokens[at].kind == "name" and self.is_(at + 1, ":"):
            return at + 2
        end = self.skip(at, ";")
        if word == "return":
            f.returns.append((at, end + 1))
            f.expressions.append((at + 1, end))
        elif word in ("break", "continue"):
            f.jumps.append(at)
        elif self.declares(at):
            self.initialisers(at, end)
        elif at < end and word != "goto":
            f.statements.append((at, end + 1))
            f.expressions.append((at, end))
        return end + 1

    def loop(self, at):
        close = self.partner[at + 1]
        first = self.skip(at + 2, ";")
        second = self.skip(first + 1, ";")
        if self.declares(at + 2):
            self.initialisers(at + 2, first)
        else:
            self.function.expressions.append((at + 2, first))
        if second > first + 1:
            self.function.conditions.append((first + 1, second))
        self.function.expressions += [(first + 1, second), (second + 1, close)]
        return self.statement(close + 1)

    def declares(self, at):
        if self.tokens[at].text in TYPES:
            return True
        if self.tokens[at].kind != "name":
            return False
        at += 1
        while self.is_(at, "*") or self.is_(at, "const"):
            at += 1
        return self.tokens[at].kind == "name"

    def initialisers(self, at, end):
        if self.is_(at, "_Static_assert") or self.is_(at, "typedef"):
            return
        while True:
            at = self.skip(at, "=", ";") + 1
            if at >= end:
                return
            stop = min(self.skip(at, ",", ";"), end)
            self.function.expressions.append((at, stop))
            at = stop

    def is_type(self, begin, end):
        """Whether tokens [begin, end) are a type, as in a cast or a sizeof."""
        words = self.tokens[begin:end]
        if not words or not all(w.kind == "name" or w.text in "*[]" for w in words):
            return False
        return words[0].text in TYPES or bool(TYPE_NAME.match(words[0].text))

    def is_binary(self, at):
        """Whether the operator at `at` has an operand before it."""
        before = self.tokens[at - 1]
        if before.text in (")", "]"):
            return not (before.text == ")" and self.is_type(self.partner[at - 1] + 1, at - 1))
        return before.kind in ("number", "string") or (before.kind == "name" and before.text not in
                                                        ("return", "case", "sizeof"))

    def of_expression(self, begin, end):
        """Indices of the tokens of an expression, without casts and sizeofs."""
        at = begin
        while at < end:
            if self.is_(at, "sizeof"):
                at = self.partner[at + 1] + 1 if self.is_(at + 1, "(") else at + 2
            elif self.is_(at, "(") and self.is_type(at + 1, self.partner[at]):
                at = self.partner[at] + 1
            else:
                yield at
                at += 1

    def span(self, begin, end):
        """The text of tokens [begin, end)."""
        return self.text[self.tokens[begin].start:self.tokens[end - 1].end]
