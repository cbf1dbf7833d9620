#include "sim/app/lexer.h"

#include "engine/util/utf8.h"

#include <string.h>

static bool scenario_lexer_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool scenario_lexer_is_word_char(char c)
{
    return is_letter(c) || scenario_lexer_is_digit(c) || c == '.' || c == '$' || c == ':' || c == '-';
}

void sim_lexer_open(struct sim_lexer *l, const char *text, size_t bytes)
{
    *l = (struct sim_lexer){.at = text, .end = text + bytes, .line = 1, .column = 1};
}

static char scenario_lexer_peek(const struct sim_lexer *l, size_t ahead)
{
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0';
}

static void scenario_lexer_advance(struct sim_lexer *l)
{
    char c = *l->at++;
    if (c == '\n') {
        l->line++;
        l->column = 1;
    } else if ((c & 0xc0) != 0x80) { /* count characters: skip later bytes of UTF-8 sequences */
        l->column++;
    }
}

static void scenario_lexer_advance_by(struct sim_lexer *l, size_t bytes)
{
    while (bytes--)
        scenario_lexer_advance(l);
}

static void scenario_lexer_skip_blanks(struct sim_lexer *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t' || *l->at == '\r'))
        scenario_lexer_advance(l);
    if (l->at < l->end && *l->at == '#')
        while (l->at < l->end && *l->at != '\n')
            scenario_lexer_advance(l);
}

static void text(struct sim_lexer *l, struct sim_token *t)
{
    t->kind = SIM_TOKEN_TEXT;
    scenario_lexer_advance(l);
    while (l->at < l->end && *l->at != '"') {
        size_t n = strobe_utf8_bytes(l->at, (size_t)(l->end - l->at));
        bool escape = *l->at == '\\';
        if (*l->at == '\n')
            break;
        if (n == 0 || (unsigned char)*l->at < ' ' || *l->at == 0x7f) {
            t->wrong = "a text with bytes in it that are no characters";
            break;
        }
        if (escape && scenario_lexer_peek(l, 1) != '"' && scenario_lexer_peek(l, 1) != '\\') {
            t->wrong = "a text with a '\\' in it that is before neither '\"' nor '\\'";
            break;
        }
        scenario_lexer_advance_by(l, escape ? 2 : n);
    }
    if (!t->wrong && (l->at == l->end || *l->at != '"'))
        t->wrong = "a text without its closing '\"'";
    if (t->wrong)
        t->kind = SIM_TOKEN_WRONG;
    else
        scenario_lexer_advance(l);
}

static void lex_number(struct sim_lexer *l, struct sim_token *t)
{
    t->kind = SIM_TOKEN_NUMBER;
    if (*l->at == '-')
        scenario_lexer_advance(l);
    while (scenario_lexer_is_digit(scenario_lexer_peek(l, 0)))
        scenario_lexer_advance(l);
    if (scenario_lexer_peek(l, 0) == '.' && scenario_lexer_is_digit(scenario_lexer_peek(l, 1))) {
        scenario_lexer_advance(l);
        while (scenario_lexer_is_digit(scenario_lexer_peek(l, 0)))
            scenario_lexer_advance(l);
    }
    while (is_letter(scenario_lexer_peek(l, 0)) || scenario_lexer_is_digit(scenario_lexer_peek(l, 0)))
        scenario_lexer_advance(l);
}

struct sim_token sim_lexer_next(struct sim_lexer *l)
{
    scenario_lexer_skip_blanks(l);
    struct sim_token t = {.kind = SIM_TOKEN_MARK, .line = l->line, .column = l->column, .begin = l->at};
    char c = scenario_lexer_peek(l, 0);
    if (l->at == l->end) {
        t.kind = SIM_TOKEN_FILE_END;
    } else if (c == '\n' || c == ';') {
        t.kind = SIM_TOKEN_LINE_END;
        scenario_lexer_advance(l);
    } else if (is_letter(c)) {
        t.kind = SIM_TOKEN_WORD;
        while (scenario_lexer_is_word_char(scenario_lexer_peek(l, 0)))
            scenario_lexer_advance(l);
    } else if (scenario_lexer_is_digit(c) || (c == '-' && scenario_lexer_is_digit(scenario_lexer_peek(l, 1)))) {
        lex_number(l, &t);
    } else if (c == '"') {
        text(l, &t);
    } else if (c == '.' && scenario_lexer_peek(l, 1) == '.') {
        scenario_lexer_advance_by(l, 2);
    } else if (c != '\0' && strchr("{}(),", c)) {
        scenario_lexer_advance(l);
    } else {
        t.kind = SIM_TOKEN_WRONG;
        size_t n = strobe_utf8_bytes(l->at, (size_t)(l->end - l->at));
        scenario_lexer_advance_by(l, n ? n : 1);
    }
    t.bytes = (size_t)(l->at - t.begin);
    return t;
}

bool sim_token_is(const struct sim_token *t, const char *word)
{
    size_t bytes = strlen(word);
    return (t->kind == SIM_TOKEN_WORD || t->kind == SIM_TOKEN_MARK) && t->bytes == bytes &&
           !memcmp(t->begin, word, bytes);
}

bool sim_token_number(const struct sim_token *t, struct sim_number *out)
{
    const char *p = t->begin, *end = t->begin + t->bytes;
    unsigned count = 0;
    *out = (struct sim_number){.negative = *p == '-'};
    p += out->negative;
    for (bool fraction = false; p < end && (scenario_lexer_is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        count += count || *p != '0';
        out->decimals += fraction;
        if (count > 18 || out->decimals > 18)
            return false;
        out->digits = out->digits * 10 + (uint64_t)(*p - '0');
    }
    out->unit = p;
    out->unit_bytes = (size_t)(end - p);
    return true;
}

size_t sim_token_text(const struct sim_token *t, char *out)
{
    size_t n = 0;
    if (t->kind != SIM_TOKEN_TEXT) {
        memcpy(out, t->begin, t->bytes);
        n = t->bytes;
    } else {
        for (size_t i = 1; i + 1 < t->bytes; i++) {
            i += t->begin[i] == '\\';
            out[n++] = t->begin[i];
        }
    }
    out[n] = '\0';
    return n;
}
