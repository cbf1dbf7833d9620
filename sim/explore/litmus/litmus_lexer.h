/* Tokens of litmus files: words, numbers and marks, with their positions. Start only. */
#ifndef STROBE_SIM_EXPLORE_LITMUS_LITMUS_LEXER_H
#define STROBE_SIM_EXPLORE_LITMUS_LITMUS_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum litmus_token_kind {
    LITMUS_TOKEN_END,    /* of the file */
    LITMUS_TOKEN_WORD,   /* letters, digits and _, no digit first */
    LITMUS_TOKEN_NUMBER, /* decimal or 0x, with C's suffixes; has a value */
    LITMUS_TOKEN_MARK,   /* one of C's operators, or /\ \/ => */
    LITMUS_TOKEN_WRONG,  /* none of these */
};

struct litmus_token {
    enum litmus_token_kind kind;
    const char *begin;
    size_t bytes;
    uint32_t line, column; /* from 1; columns count characters of UTF-8 */
    uint64_t value;
    const char *wrong; /* WRONG: the fault, or NULL when its text is clear enough */
};

struct litmus_lexer {
    const char *at, *end;
    uint32_t line, column;
    bool in_code; /* a (* is not a comment there */
};

void explore_litmus_lexer_open(struct litmus_lexer *lexer, const char *text, size_t bytes);
struct litmus_token explore_litmus_next(struct litmus_lexer *lexer);

/* Returns the rest of the line without blanks around it, and goes on to the next line. */
struct litmus_token explore_litmus_rest_of_line(struct litmus_lexer *lexer);

/* Skips comments, texts in "" and all other text up to the first of these characters. Returns false when there is
 * none. */
bool explore_litmus_skip_to(struct litmus_lexer *lexer, char c);

bool explore_litmus_is(const struct litmus_token *token, const char *text);

#endif
