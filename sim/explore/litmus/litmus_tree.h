/* The syntax tree of a litmus test. The reader (litmus_parse.c, litmus_code.c) builds it, and the interpreter
 * (litmus_run.c) walks it. Nodes are indexes into one array; index 0 is no node. For sim/explore and its tests only. */
#ifndef STROBE_SIM_EXPLORE_LITMUS_LITMUS_TREE_H
#define STROBE_SIM_EXPLORE_LITMUS_LITMUS_TREE_H

#include "sim/explore/litmus/litmus.h"

enum {
    LITMUS_LOCATIONS_MAX = 64,
    LITMUS_REGISTERS_MAX = 64,              /* maximum for one thread */
    LITMUS_DEPTH_MAX = 64,                  /* of nested values and statements */
    LITMUS_HEIGHT_MAX = 200,                /* maximum height of the tree: a + b + c leans to the left */
    LITMUS_NO_THREAD = EXPLORE_THREADS_MAX, /* the thread of an item that is a location */
};

/* The address of location i as a value. Values in between are no addresses. */
#define LITMUS_ADDRESS(i) (INT64_C(0x40000000) + 16 * (int64_t)(i))

struct litmus_type {
    uint8_t bytes; /* 1, 2, 4, 8; 0: void */
    bool is_signed, is_bool, is_pointer;
};

struct litmus_name {
    char *text;
    struct litmus_type type;
    int64_t initial;
};

enum litmus_kind {
    /* values */
    LITMUS_NUMBER,           /* value */
    LITMUS_REGISTER,         /* value: index */
    LITMUS_UNARY,            /* mark a */
    LITMUS_BINARY,           /* a mark b; && and || skip b when a decides */
    LITMUS_CHOICE,           /* a ? b : c */
    LITMUS_CAST,             /* a in type; void: no value */
    LITMUS_PLAIN_LOAD,       /* *a */
    LITMUS_LOAD,             /* at a */
    LITMUS_FETCH,            /* at a, operand b, value: enum explore_update; full: between two fences */
    LITMUS_COMPARE_EXCHANGE, /* at a, desired c; expected in b: a REGISTER if in_register, or at it */
    /* statements; those above also are, by next */
    LITMUS_STORE, /* at a, of b */
    LITMUS_FENCE,
    LITMUS_ASSIGN,      /* register value = a */
    LITMUS_PLAIN_STORE, /* *a = b */
    LITMUS_IF,          /* if a then b else c */
    LITMUS_WHILE,       /* while a do b */
    LITMUS_DO,          /* do b while a */
};

/* Operators whose mark has more than one character. */
enum {
    LITMUS_ALSO = 'A',
    LITMUS_ELSE = 'E',
    LITMUS_EQUAL = 'e',
    LITMUS_UNEQUAL = 'n',
    LITMUS_AT_MOST = 'l',
    LITMUS_AT_LEAST = 'g',
    LITMUS_LEFT = 'L',
    LITMUS_RIGHT = 'R'
};

struct litmus_node {
    enum litmus_kind kind;
    char mark;
    bool weak, in_register, full;
    uint8_t order, failure_order;
    struct litmus_type type;
    int64_t value;
    uint32_t a, b, c, next;
    uint32_t height, line;
    uint32_t text; /* index of its statement's text */
};

struct litmus_thread {
    uint64_t parameters;           /* bit i: location i is one */
    uint32_t register_count, body; /* body: first statement */
    struct litmus_name reg[LITMUS_REGISTERS_MAX];
};

/* An item that the condition or `locations` names. */
struct litmus_item {
    uint32_t thread, index;
};

enum litmus_claim { LITMUS_CONSTANT, LITMUS_SAME, LITMUS_NOT, LITMUS_BOTH, LITMUS_EITHER, LITMUS_IMPLIES, LITMUS_TRUE };

struct litmus_prop {
    enum litmus_claim kind;
    uint32_t a, b; /* propositions; CONSTANT: a is an item; SAME: a and b are items */
    int64_t value; /* CONSTANT; TRUE: the truth value */
    bool holds;    /* in the execution being judged */
};

struct explore_litmus {
    char *name, *condition, *path;
    struct explore_program program;
    enum explore_quantifier quantifier;
    uint32_t prop, filter; /* 0: none, which counts as true */
    uint32_t location_count, item_count, node_count, prop_count, text_count;
    uint32_t node_room, prop_room, text_room, item_room;
    struct litmus_name location[LITMUS_LOCATIONS_MAX];
    struct litmus_thread thread[EXPLORE_THREADS_MAX];
    struct litmus_node *node;
    struct litmus_prop *claim;
    struct litmus_item *item; /* in the order of printing */
    char **text;
};

/* Returns the value as memory or a local of that type stores it. */
int64_t explore_litmus_fit(struct litmus_type type, uint64_t value);

#endif
