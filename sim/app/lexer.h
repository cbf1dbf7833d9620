/* The lexer of the scenario language. A source is a text in memory; a token points into it.
 *
 * Newlines and ';' are tokens (they end a statement). Blanks and comments ('#' to the end of the line) are skipped.
 * Tokens own no memory. */
#ifndef STROBE_SIM_APP_LEXER_H
#define STROBE_SIM_APP_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_token_kind {
    SIM_TOKEN_WORD,   /* a letter or '_', then letters, digits and any of _ . $ : - */
    SIM_TOKEN_TEXT,   /* "...", with \" and \\ in it */
    SIM_TOKEN_NUMBER, /* digits, with an optional '-' before and an optional fraction and unit after */
    SIM_TOKEN_MARK,   /* { } ( ) , .. */
    SIM_TOKEN_LINE_END,
    SIM_TOKEN_FILE_END,
    SIM_TOKEN_WRONG, /* not part of the language; `wrong` describes it */
};

struct sim_token {
    enum sim_token_kind kind;
    uint32_t line, column; /* from 1; a column is a character, not a byte */
    const char *begin;
    size_t bytes;
    const char *wrong;
};

struct sim_lexer {
    const char *at, *end;
    uint32_t line, column;
};

void sim_lexer_open(struct sim_lexer *l, const char *text, size_t bytes);
struct sim_token sim_lexer_next(struct sim_lexer *l);

/* True when the token is this word or mark. */
bool sim_token_is(const struct sim_token *t, const char *word);

/* The parts of a NUMBER token: (negative ? -1 : 1) * digits / 10^decimals, and its unit. False: more than 18 digits. */
struct sim_number {
    bool negative;
    uint64_t digits;
    unsigned decimals;
    const char *unit;
    size_t unit_bytes;
};
bool sim_token_number(const struct sim_token *t, struct sim_number *out);

/* Copies the text between the quotes of a TEXT token, or a WORD unchanged. `out` has capacity for token->bytes + 1.
 * Returns the length. */
size_t sim_token_text(const struct sim_token *t, char *out);

#endif
