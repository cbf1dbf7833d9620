#include "sim/explore/litmus/litmus_lexer.h"

#include <string.h>

static bool lexer_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool lexer_is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || lexer_is_digit(c);
}

static bool lexer_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

void explore_litmus_lexer_open(struct litmus_lexer *l, const char *text, size_t bytes)
{
    *l = (struct litmus_lexer){.at = text, .end = text + bytes, .line = 1, .column = 1};
}

static char lexer_peek(const struct litmus_lexer *l, size_t ahead)
{
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0';
}

static void lexer_step(struct litmus_lexer *l)
{
    char c = *l->at++;
    if (c == '\n') {
        l->line++;
        l->column = 1;
    } else if ((c & 0xc0) != 0x80) { /* not a continuation byte of a UTF-8 character */
        l->column++;
    }
}

static void lexer_step_by(struct litmus_lexer *l, size_t bytes)
{
    while (bytes-- && l->at < l->end)
        lexer_step(l);
}

static bool lexer_is_at(const struct litmus_lexer *l, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(l->end - l->at) >= n && !memcmp(l->at, text, n);
}

/* Comments (* *) nest, C's do not. A comment without an end extends to the end of the file; the reported fault is what
 * is missing after it. */
static bool skip_comment(struct litmus_lexer *l)
{
    uint32_t depth = 0;
    if (lexer_is_at(l, "//")) {
        while (l->at < l->end && *l->at != '\n')
            lexer_step(l);
    } else if (lexer_is_at(l, "/*")) {
        lexer_step_by(l, 2);
        while (l->at < l->end && !lexer_is_at(l, "*/"))
            lexer_step(l);
        lexer_step_by(l, 2);
    } else if (!l->in_code && lexer_is_at(l, "(*")) {
        do {
            bool opens = lexer_is_at(l, "(*"), closes = lexer_is_at(l, "*)");
            depth += opens ? 1 : 0;
            depth -= closes ? 1 : 0;
            lexer_step_by(l, opens || closes ? 2 : 1);
        } while (depth && l->at < l->end);
    } else {
        return false;
    }
    return true;
}

static void lexer_skip_blanks(struct litmus_lexer *l)
{
    do {
        while (l->at < l->end && lexer_is_blank(*l->at))
            lexer_step(l);
    } while (skip_comment(l));
}

static int digit_of(char c)
{
    return lexer_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static void lexer_read_number(struct litmus_lexer *l, struct litmus_token *t)
{
    unsigned base = lexer_peek(l, 0) == '0' && (lexer_peek(l, 1) == 'x' || lexer_peek(l, 1) == 'X') ? 16 : 10;
    bool large = false;
    uint32_t digits = 0;
    t->kind = LITMUS_TOKEN_NUMBER;
    lexer_step_by(l, base == 16 ? 2 : 0);
    for (; digit_of(lexer_peek(l, 0)) < (int)base; digits++, lexer_step(l)) {
        unsigned d = (unsigned)digit_of(lexer_peek(l, 0));
        large |= t->value > (UINT64_MAX - d) / base;
        t->value = t->value * base + d;
    }
    while (lexer_peek(l, 0) != '\0' && strchr("uUlL", lexer_peek(l, 0)))
        lexer_step(l);
    if (lexer_is_word_char(lexer_peek(l, 0)) || digits == 0 || large)
        t->kind = LITMUS_TOKEN_WRONG;
    while (lexer_is_word_char(lexer_peek(l, 0)))
        lexer_step(l);
}

static void lexer_mark_token(struct litmus_lexer *l, struct litmus_token *t)
{
    static const char *const pairs[] = {
        "/\\", "\\/", "=>", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "&=", "|=", "^=", "++", "--",
    };
    char c = lexer_peek(l, 0);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (lexer_is_at(l, pairs[i])) {
            lexer_step_by(l, 2);
            return;
        }
    }
    if (c != '\0' && strchr("{}()[];:,=*&|^~!<>+-/%?.#\"'@$\\`", c)) {
        lexer_step(l);
        return;
    }
    t->kind = LITMUS_TOKEN_WRONG;
    t->wrong = (unsigned char)c < 0x80 ? "a byte that is no character" : "a character that is not of ASCII";
    do
        lexer_step(l);
    while (l->at < l->end && (*l->at & 0xc0) == 0x80);
}

struct litmus_token explore_litmus_next(struct litmus_lexer *l)
{
    lexer_skip_blanks(l);
    struct litmus_token t = {.kind = LITMUS_TOKEN_MARK, .begin = l->at, .line = l->line, .column = l->column};
    if (l->at == l->end) {
        t.kind = LITMUS_TOKEN_END;
    } else if (lexer_is_digit(*l->at)) {
        lexer_read_number(l, &t);
    } else if (lexer_is_word_char(*l->at)) {
        t.kind = LITMUS_TOKEN_WORD;
        while (lexer_is_word_char(lexer_peek(l, 0)))
            lexer_step(l);
    } else {
        lexer_mark_token(l, &t);
    }
    t.bytes = (size_t)(l->at - t.begin);
    return t;
}

struct litmus_token explore_litmus_rest_of_line(struct litmus_lexer *l)
{
    while (lexer_peek(l, 0) == ' ' || lexer_peek(l, 0) == '\t')
        lexer_step(l);
    struct litmus_token t = {.kind = LITMUS_TOKEN_WORD, .begin = l->at, .line = l->line, .column = l->column};
    while (l->at < l->end && *l->at != '\n' && *l->at != '\r')
        lexer_step(l);
    t.bytes = (size_t)(l->at - t.begin);
    while (t.bytes && lexer_is_blank(t.begin[t.bytes - 1]))
        t.bytes--;
    return t;
}

bool explore_litmus_skip_to(struct litmus_lexer *l, char c)
{
    for (lexer_skip_blanks(l); l->at < l->end && *l->at != c; lexer_skip_blanks(l)) {
        bool quoted = *l->at == '"';
        lexer_step(l);
        while (quoted && l->at < l->end && *l->at != '\n') {
            quoted = *l->at != '"';
            lexer_step(l);
        }
    }
    return l->at < l->end;
}

bool explore_litmus_is(const struct litmus_token *t, const char *text)
{
    return (t->kind == LITMUS_TOKEN_WORD || t->kind == LITMUS_TOKEN_MARK) && strlen(text) == t->bytes &&
           !memcmp(t->begin, text, t->bytes);
}
