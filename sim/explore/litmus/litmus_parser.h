/* What the two halves of the litmus reader share: litmus_parse.c (the file's parts) and litmus_code.c (C). The first
 * fault is kept and the tokens end there, so that every loop of the reader does. */
#ifndef STROBE_SIM_EXPLORE_LITMUS_LITMUS_PARSER_H
#define STROBE_SIM_EXPLORE_LITMUS_LITMUS_PARSER_H

#include "engine/base/error.h"
#include "sim/explore/litmus/litmus_lexer.h"
#include "sim/explore/litmus/litmus_tree.h"

struct litmus_parser {
    struct litmus_lexer lexer;
    struct litmus_token now;
    const char *last_end; /* of the token before */
    struct explore_litmus *test;
    uint32_t thread; /* whose code is read */
    uint32_t text;   /* of the statement that is read */
    uint32_t depth;
    const char *path;
    struct strobe_error *error;
    enum strobe_status status;
};

#define LITMUS_NONE UINT32_MAX

void explore_litmus_step(struct litmus_parser *p);
/* Steps over the token if it is that. */
bool explore_litmus_take(struct litmus_parser *p, const char *text);
/* .. and faults if it is not. */
bool explore_litmus_need(struct litmus_parser *p, const char *text);
/* "expected WHAT, found TOKEN". */
void explore_litmus_expected(struct litmus_parser *p, const struct litmus_token *found, const char *what);
void explore_litmus_no_memory(struct litmus_parser *p);

/* Room for one more in an array that grows; false: no memory, which is said. */
bool explore_litmus_room(struct litmus_parser *p, void *array, uint32_t *room, uint32_t count, size_t bytes);

/* Index of that name, added if need be; LITMUS_NONE after a fault. A name that is known keeps its type, unless it was
 * guessed (type NULL). */
uint32_t explore_litmus_location(struct litmus_parser *p, const struct litmus_token *name,
                                 const struct litmus_type *type);
uint32_t explore_litmus_register(struct litmus_parser *p, uint32_t thread, const struct litmus_token *name,
                                 const struct litmus_type *type);
uint32_t explore_litmus_find_location(const struct explore_litmus *test, const struct litmus_token *name);
uint32_t explore_litmus_find_register(const struct explore_litmus *test, uint32_t thread,
                                      const struct litmus_token *name);

/* A type, if one begins here; stars after it make it a pointer, their number in *stars. */
bool explore_litmus_type_begins(const struct litmus_token *token);
bool explore_litmus_type(struct litmus_parser *p, struct litmus_type *type, uint32_t *stars);

/* Statements up to the "}", which is left: the first one's index, or 0. */
uint32_t explore_litmus_statements(struct litmus_parser *p);

/* Copy of a piece of the source on one line; NULL: no memory, which is said. */
char *explore_litmus_line(struct litmus_parser *p, const char *begin, const char *end);

#endif
