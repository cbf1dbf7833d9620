/* Functions shared by the two halves of the litmus reader: litmus_parse.c (parts of the file) and litmus_code.c (C).
 * The first fault is kept, and the tokens end there, so that all loops of the reader end. */
#ifndef STROBE_SIM_EXPLORE_LITMUS_LITMUS_PARSER_H
#define STROBE_SIM_EXPLORE_LITMUS_LITMUS_PARSER_H

#include "engine/base/error.h"
#include "sim/explore/litmus/litmus_lexer.h"
#include "sim/explore/litmus/litmus_tree.h"

struct litmus_parser {
    struct litmus_lexer lexer;
    struct litmus_token now;
    const char *last_end; /* end of the token before */
    struct explore_litmus *test;
    uint32_t thread; /* thread whose code is being read */
    uint32_t text;   /* text of the statement being read */
    uint32_t depth;
    const char *path;
    struct strobe_error *error;
    enum strobe_status status;
};

#define LITMUS_NONE UINT32_MAX

void explore_litmus_step(struct litmus_parser *p);
/* Skips the token if it has this text. */
bool explore_litmus_take(struct litmus_parser *p, const char *text);
/* Does the same, and reports a fault if it has another text. */
bool explore_litmus_need(struct litmus_parser *p, const char *text);
/* Reports "expected WHAT, found TOKEN". */
void explore_litmus_expected(struct litmus_parser *p, const struct litmus_token *found, const char *what);
void explore_litmus_no_memory(struct litmus_parser *p);

/* Makes an array larger, for one more element. Returns false, after a report, when memory runs out. */
bool explore_litmus_room(struct litmus_parser *p, void *array, uint32_t *room, uint32_t count, size_t bytes);

/* Returns the index of that name, which is added if necessary; LITMUS_NONE after a fault. A known name keeps its type,
 * unless the type was guessed (type NULL). */
uint32_t explore_litmus_location(struct litmus_parser *p, const struct litmus_token *name,
                                 const struct litmus_type *type);
uint32_t explore_litmus_register(struct litmus_parser *p, uint32_t thread, const struct litmus_token *name,
                                 const struct litmus_type *type);
uint32_t explore_litmus_find_location(const struct explore_litmus *test, const struct litmus_token *name);
uint32_t explore_litmus_find_register(const struct explore_litmus *test, uint32_t thread,
                                      const struct litmus_token *name);

/* Reads a type, if one begins here. Stars after it make it a pointer; *stars is their number. */
bool explore_litmus_type_begins(const struct litmus_token *token);
bool explore_litmus_type(struct litmus_parser *p, struct litmus_type *type, uint32_t *stars);

/* Reads statements up to the "}", which is left. Returns the first one's index, or 0. */
uint32_t explore_litmus_statements(struct litmus_parser *p);

/* Copies a piece of the source onto one line. Returns NULL, after a report, when memory runs out. */
char *explore_litmus_line(struct litmus_parser *p, const char *begin, const char *end);

#endif
