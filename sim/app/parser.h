/* The state and functions that the files of the scenario parser share. The parser is a recursive descent over one token
 * of look-ahead. The first fault ends it: all functions up the stack return false.
 *
 *   parse.c                sources and includes, faults
 *   parse_declarations.c   declarations at the top of a file
 *   parse_ops.c            blocks and operations
 *   parse_values.c         names, numbers, units, distributions
 *   resolve.c              turns mentioned names into numbers, and checks the scenario as a whole */
#ifndef STROBE_SIM_APP_PARSER_H
#define STROBE_SIM_APP_PARSER_H

#include "engine/base/error.h"
#include "sim/app/lexer.h"
#include "sim/app/syntax.h"

/* Owns the memory that a scenario points to. */
struct sim_scenario_memory;

/* Returns an empty scenario with defaults; NULL: out of memory. */
struct sim_scenario *sim_scenario_new(void);

/* Allocates memory that lives as long as the scenario; not zeroed. NULL: out of memory. */
void *sim_scenario_take(struct sim_scenario *s, size_t bytes);

/* Makes capacity for one more item after `count` in a malloc'ed array, and returns the array, which may move. NULL: out
 * of memory; the array stays valid. */
void *sim_array_grow(void *items, uint32_t count, size_t item_bytes);

/* A source text. Sources live until the parse has ended; paths live with the scenario. */
struct sim_source {
    struct sim_source *next; /* list of all sources */
    struct sim_source *includer;
    const char *path;
    char *text; /* the caller's, unless `owned` */
    bool owned;
    size_t bytes;
    uint64_t device, inode; /* of a file */
};

struct sim_place {
    const struct sim_source *source;
    uint32_t line, column;
};

enum sim_table {
    SIM_TABLE_IMAGE,
    SIM_TABLE_METHOD,
    SIM_TABLE_LOCK,
    SIM_TABLE_COND,
    SIM_TABLE_SEM,
    SIM_TABLE_QUEUE,
    SIM_TABLE_THREAD,
    SIM_TABLES
};

struct sim_declared {
    const char *name; /* NULL: a free entry of the hash table */
    enum sim_table table;
    uint32_t index;
    struct sim_place place;
};

/* A name used before its meaning is known. Until resolve.c has run, fields of the scenario for a number of an object
 * hold the number of the mention. */
struct sim_mention {
    enum sim_arg wanted;
    const char *name;
    struct sim_place place;
};

/* A lock whose block encloses the current place. */
struct sim_held {
    const char *name;
    enum sim_op_kind by;
};

struct sim_parser {
    struct sim_scenario *s;
    struct sim_source *source, *sources;
    struct sim_lexer lexer;
    struct sim_token token;
    uint32_t include_count, include_depth;

    struct sim_declared *declared; /* open addressing, by name and table */
    uint32_t declared_count, declared_room;
    struct sim_mention *mentions;
    uint32_t mention_count;
    struct sim_place *method_places; /* where each method is declared */

    struct sim_op *open_ops; /* operations of blocks that are still open; those of the innermost block are at its end */
    uint32_t open_op_count;
    struct sim_fault *op_faults; /* faults in operations; they are numbered after the scenario's own */
    uint32_t op_fault_count;
    struct sim_arm *open_arms;
    uint32_t open_arm_count;
    struct sim_held held[SIM_NESTING_MAX + 1];
    uint32_t held_count, depth;
    bool in_frameless;

    struct sim_place scenario_place, duration_place, cores_place, busy_place, main_place; /* source NULL: not stated */
    uint64_t threads_started;
    uint64_t settings_said; /* one bit per setting */

    enum strobe_status status;
    struct strobe_error *error;
};

/* Records a fault and returns false. All functions below that return bool also record a fault when they return false,
 * unless their comment says otherwise. */
__attribute__((format(printf, 3, 4))) bool sim_parse_fault(struct sim_parser *p, const struct sim_place *place,
                                                           const char *format, ...);
bool sim_parse_no_memory(struct sim_parser *p);

/* Records the fault "expected WHAT, found ..." at the token. Returns false. */
__attribute__((format(printf, 2, 3))) bool sim_parse_expected(struct sim_parser *p, const char *format, ...);

struct sim_place sim_parse_place(const struct sim_parser *p);
void sim_parse_next(struct sim_parser *p);

/* True when the token is this word or mark; then steps over it. */
bool sim_parse_accept(struct sim_parser *p, const char *word);
bool sim_parse_expect(struct sim_parser *p, const char *mark);
void sim_parse_skip_lines(struct sim_parser *p);

/* True at the end of a line, of the file or of a block, which it does not step over. Otherwise a fault. */
bool sim_parse_statement_end(struct sim_parser *p);

/* Reads a word or a text, kept with the scenario. `what` names it in the message when it is missing. */
bool sim_parse_name(struct sim_parser *p, const char *what, const char **out);
bool sim_parse_text(struct sim_parser *p, const char *what, const char **out);

/* Declares a name. A second declaration in one table is a fault, which names the first. */
bool sim_parse_declare(struct sim_parser *p, enum sim_table table, const char *name, uint32_t index,
                       const struct sim_place *place);
const struct sim_declared *sim_parse_find(const struct sim_parser *p, enum sim_table table, const char *name);
bool sim_parse_mention(struct sim_parser *p, enum sim_arg wanted, uint32_t *out);
bool sim_parse_mention_as(struct sim_parser *p, enum sim_arg wanted, const char *name, const struct sim_place *place,
                          uint32_t *out);

/* Read a number within bounds. `what` begins the message: "expected WHAT". */
bool sim_parse_count(struct sim_parser *p, const char *what, uint64_t low, uint64_t high, uint64_t *out);
bool sim_parse_int(struct sim_parser *p, const char *what, int low, int high, int *out);
bool sim_parse_decimal(struct sim_parser *p, const char *what, double low, double high, double *out);
bool sim_parse_time(struct sim_parser *p, uint64_t low_ns, uint64_t high_ns, uint64_t *out);
bool sim_parse_size(struct sim_parser *p, uint64_t low, uint64_t high, uint64_t *out);
bool sim_parse_any_amount(struct sim_parser *p, uint64_t *out);
bool sim_parse_range(struct sim_parser *p, double *low, double *high);

/* Reads a distribution of the step's kind of value: times, sizes or counts. */
bool sim_parse_dist(struct sim_parser *p, enum sim_arg arg, struct sim_dist *out);

/* Parses a method's body, up to its closing brace. */
bool sim_parse_body(struct sim_parser *p, bool frameless, uint32_t *block);

/* Parses a fault from its kind on. `place` is the place of the word before. */
bool sim_parse_injected(struct sim_parser *p, const struct sim_place *place, struct sim_fault *out);

/* Parse one declaration and its end; an include with the whole file. */
bool sim_parse_declaration(struct sim_parser *p);
bool sim_parse_declaration_end(struct sim_parser *p);
bool sim_parse_include(struct sim_parser *p);

/* Resolves and checks the scenario after all sources are read. */
bool sim_parse_resolve(struct sim_parser *p);

/* Returns the name of a step's or a table's objects in messages: "a mutex". */
const char *sim_arg_text(enum sim_arg arg);

#endif
