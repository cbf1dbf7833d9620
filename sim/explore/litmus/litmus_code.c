#include "sim/explore/access.h"
#include "sim/explore/litmus/litmus_parser.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- types */

struct type_word {
    const char *word;
    uint8_t bytes;
    bool is_signed;
};

static const struct type_word type_words[] = {
    {"int", 4, true},
    {"char", 1, true},
    {"short", 2, true},
    {"long", 8, true},
    {"signed", 4, true},
    {"unsigned", 4, false},
    {"void", 0, false},
    {"_Bool", 1, false},
    {"bool", 1, false},
    {"int8_t", 1, true},
    {"int16_t", 2, true},
    {"int32_t", 4, true},
    {"int64_t", 8, true},
    {"uint8_t", 1, false},
    {"uint16_t", 2, false},
    {"uint32_t", 4, false},
    {"uint64_t", 8, false},
    {"intptr_t", 8, true},
    {"uintptr_t", 8, false},
    {"size_t", 8, false},
    {"ssize_t", 8, true},
    {"s8", 1, true},
    {"s16", 2, true},
    {"s32", 4, true},
    {"s64", 8, true},
    {"u8", 1, false},
    {"u16", 2, false},
    {"u32", 4, false},
    {"u64", 8, false},
    {"atomic_bool", 1, false},
    {"atomic_char", 1, true},
    {"atomic_schar", 1, true},
    {"atomic_uchar", 1, false},
    {"atomic_short", 2, true},
    {"atomic_ushort", 2, false},
    {"atomic_int", 4, true},
    {"atomic_uint", 4, false},
    {"atomic_long", 8, true},
    {"atomic_ulong", 8, false},
    {"atomic_llong", 8, true},
    {"atomic_ullong", 8, false},
    {"atomic_intptr_t", 8, true},
    {"atomic_uintptr_t", 8, false},
    {"atomic_size_t", 8, false},
    {"atomic_t", 4, true},
};

static const char *const qualifiers[] = {"const", "volatile", "restrict", "static", "register", "auto"};

static const struct type_word *type_word(const struct litmus_token *t)
{
    for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++)
        if (explore_litmus_is(t, type_words[i].word))
            return &type_words[i];
    return NULL;
}

static bool is_qualifier(const struct litmus_token *t)
{
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
        if (explore_litmus_is(t, qualifiers[i]))
            return true;
    return false;
}

bool explore_litmus_type_begins(const struct litmus_token *t)
{
    return type_word(t) || is_qualifier(t) || explore_litmus_is(t, "_Atomic");
}

/* `int` after long or unsigned adds nothing. */
static void add_word(struct litmus_type *type, const struct type_word *w, bool first)
{
    bool size = w->word[0] != 's' || w->word[1] != 'i'; /* all words except signed */
    if (first || (strcmp(w->word, "int") && strcmp(w->word, "unsigned") && size))
        type->bytes = w->bytes;
    if (first || !strcmp(w->word, "unsigned"))
        type->is_signed = w->is_signed;
    type->is_bool |= !strcmp(w->word, "_Bool") || !strcmp(w->word, "bool") || !strcmp(w->word, "atomic_bool");
}

bool explore_litmus_type(struct litmus_parser *p, struct litmus_type *type, uint32_t *stars)
{
    const struct type_word *w;
    bool any = false;
    *type = (struct litmus_type){0};
    *stars = 0;
    for (;;) {
        if (is_qualifier(&p->now)) {
            explore_litmus_step(p);
        } else if (explore_litmus_take(p, "_Atomic")) {
            if (!explore_litmus_take(p, "("))
                continue;
            uint32_t inner = 0;
            if (!explore_litmus_type_begins(&p->now) || explore_litmus_is(&p->now, "_Atomic"))
                explore_litmus_expected(p, &p->now, "a type");
            if (!explore_litmus_type(p, type, &inner) || !explore_litmus_need(p, ")"))
                return false;
            if (inner)
                *type = (struct litmus_type){.bytes = 8, .is_pointer = true};
            any = true;
        } else if ((w = type_word(&p->now)) != NULL) {
            add_word(type, w, !any);
            any = true;
            explore_litmus_step(p);
        } else {
            break;
        }
    }
    if (!any)
        explore_litmus_expected(p, &p->now, "a type");
    while (explore_litmus_is(&p->now, "*") || (*stars && is_qualifier(&p->now))) {
        *stars += explore_litmus_is(&p->now, "*");
        explore_litmus_step(p);
    }
    return p->status == STROBE_OK;
}

/* ---- nodes */

static uint32_t add_litmus_node(struct litmus_parser *p, struct litmus_node n)
{
    struct explore_litmus *test = p->test;
    if (p->status != STROBE_OK ||
        !explore_litmus_room(p, &test->node, &test->node_room, test->node_count, sizeof *test->node))
        return 0;
    uint32_t height = test->node[n.a].height;
    height = height > test->node[n.b].height ? height : test->node[n.b].height;
    n.height = 1 + (height > test->node[n.c].height ? height : test->node[n.c].height);
    if (n.height > LITMUS_HEIGHT_MAX)
        explore_litmus_expected(p, &p->now, "values and statements that are less deep");
    n.text = p->text;
    n.line = p->now.line;
    test->node[test->node_count] = n;
    return test->node_count++;
}

/* Begins the text of a statement, which is complete when the whole statement is read. */
static void begin_text(struct litmus_parser *p)
{
    struct explore_litmus *test = p->test;
    if (!explore_litmus_room(p, &test->text, &test->text_room, test->text_count, sizeof *test->text))
        return;
    p->text = test->text_count++;
    test->text[p->text] = NULL;
}

static void end_node_text(struct litmus_parser *p, const char *begin)
{
    if (p->status == STROBE_OK)
        p->test->text[p->text] = explore_litmus_line(p, begin, p->last_end);
}

/* ---- calls */

struct function {
    const char *name;
    enum litmus_kind kind;
    enum explore_update update;
    uint8_t order;
    bool is_explicit, weak, full, deref;
};

enum { RLX = memory_order_relaxed, ACQ = memory_order_acquire, REL = memory_order_release, SC = memory_order_seq_cst };

#define CALL(text, what, how, with)                                                                                    \
    {                                                                                                                  \
        .name = text, .kind = what, .update = how, .order = with                                                       \
    }
#define BOTH(text, what, how)                                                                                          \
    CALL(text, what, how, SC),                                                                                         \
    {                                                                                                                  \
        .name = text "_explicit", .kind = what, .update = how, .order = SC, .is_explicit = true                        \
    }
#define IN_LINUX(text, what, how, with)                                                                                \
    {                                                                                                                  \
        .name = text, .kind = what, .update = how, .order = with, .deref = true                                        \
    }

static const struct function functions[] = {
    BOTH("atomic_load", LITMUS_LOAD, 0),
    BOTH("atomic_store", LITMUS_STORE, 0),
    BOTH("atomic_exchange", LITMUS_FETCH, EXPLORE_EXCHANGE),
    BOTH("atomic_fetch_add", LITMUS_FETCH, EXPLORE_ADD),
    BOTH("atomic_fetch_sub", LITMUS_FETCH, EXPLORE_SUB),
    BOTH("atomic_fetch_and", LITMUS_FETCH, EXPLORE_AND),
    BOTH("atomic_fetch_or", LITMUS_FETCH, EXPLORE_OR),
    BOTH("atomic_fetch_xor", LITMUS_FETCH, EXPLORE_XOR),
    BOTH("atomic_compare_exchange_strong", LITMUS_COMPARE_EXCHANGE, 0),
    {.name = "atomic_compare_exchange_weak", .kind = LITMUS_COMPARE_EXCHANGE, .order = SC, .weak = true},
    {.name = "atomic_compare_exchange_weak_explicit",
     .kind = LITMUS_COMPARE_EXCHANGE,
     .weak = true,
     .is_explicit = true},
    CALL("atomic_init", LITMUS_PLAIN_STORE, 0, RLX),
    {.name = "atomic_thread_fence", .kind = LITMUS_FENCE, .is_explicit = true},
    IN_LINUX("READ_ONCE", LITMUS_LOAD, 0, RLX),
    IN_LINUX("WRITE_ONCE", LITMUS_STORE, 0, RLX),
    CALL("smp_load_acquire", LITMUS_LOAD, 0, ACQ),
    CALL("smp_store_release", LITMUS_STORE, 0, REL),
    CALL("smp_mb", LITMUS_FENCE, 0, SC),
    CALL("smp_rmb", LITMUS_FENCE, 0, ACQ),
    CALL("smp_wmb", LITMUS_FENCE, 0, REL),
    {.name = "xchg", .kind = LITMUS_FETCH, .update = EXPLORE_EXCHANGE, .order = RLX, .full = true},
    CALL("xchg_relaxed", LITMUS_FETCH, EXPLORE_EXCHANGE, RLX),
    CALL("xchg_acquire", LITMUS_FETCH, EXPLORE_EXCHANGE, ACQ),
    CALL("xchg_release", LITMUS_FETCH, EXPLORE_EXCHANGE, REL),
};

static const struct function *function_called(const struct litmus_token *t)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (explore_litmus_is(t, functions[i].name))
            return &functions[i];
    return NULL;
}

static bool has_value(enum litmus_kind kind)
{
    return kind < LITMUS_STORE;
}

static uint8_t parse_memory_order(struct litmus_parser *p)
{
    static const struct {
        const char *word;
        uint8_t order;
    } orders[] = {
        {"memory_order_relaxed", RLX},
        {"memory_order_consume", ACQ},
        {"memory_order_acquire", ACQ},
        {"memory_order_release", REL},
        {"memory_order_acq_rel", memory_order_acq_rel},
        {"memory_order_seq_cst", SC},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (explore_litmus_take(p, orders[i].word))
            return orders[i].order;
    explore_litmus_expected(p, &p->now, "an order (as memory_order_acquire)");
    return RLX;
}

/* Returns the part of an order that a load can have: it cannot release. */
static uint8_t of_load(uint8_t o)
{
    return o == REL ? RLX : o == memory_order_acq_rel ? ACQ : o;
}

static uint8_t of_store(uint8_t o)
{
    return o == ACQ ? RLX : o == memory_order_acq_rel ? REL : o;
}

static uint32_t parse_value(struct litmus_parser *p);
static uint32_t parse_unary(struct litmus_parser *p);

/* Reads the place of the value that a compare-exchange expects: &LOCAL, or the address of shared memory. */
static void parse_expectation(struct litmus_parser *p, struct litmus_node *n)
{
    if (!explore_litmus_take(p, "&")) {
        n->b = parse_value(p);
        return;
    }
    uint32_t i =
        p->now.kind == LITMUS_TOKEN_WORD ? explore_litmus_find_register(p->test, p->thread, &p->now) : LITMUS_NONE;
    if (i == LITMUS_NONE)
        explore_litmus_expected(p, &p->now, "the name of a local");
    explore_litmus_step(p);
    n->in_register = true;
    n->b = add_litmus_node(p, (struct litmus_node){.kind = LITMUS_REGISTER, .value = i});
}

static uint32_t parse_call(struct litmus_parser *p, const struct function *f)
{
    struct litmus_node n = {.kind = f->kind, .value = f->update, .weak = f->weak, .full = f->full, .order = f->order};
    explore_litmus_step(p);
    explore_litmus_need(p, "(");
    if (f->kind != LITMUS_FENCE) {
        n.a = !f->deref ? parse_value(p) : explore_litmus_need(p, "*") ? parse_unary(p) : 0;
        if (f->kind == LITMUS_COMPARE_EXCHANGE && explore_litmus_need(p, ","))
            parse_expectation(p, &n);
        if (f->kind == LITMUS_COMPARE_EXCHANGE && explore_litmus_need(p, ","))
            n.c = parse_value(p);
        else if (f->kind != LITMUS_LOAD && f->kind != LITMUS_COMPARE_EXCHANGE && explore_litmus_need(p, ","))
            n.b = parse_value(p);
        if (f->is_explicit)
            explore_litmus_need(p, ",");
    }
    if (f->is_explicit)
        n.order = parse_memory_order(p);
    n.failure_order = of_load(n.order);
    if (f->kind == LITMUS_COMPARE_EXCHANGE && f->is_explicit && explore_litmus_need(p, ","))
        n.failure_order = of_load(parse_memory_order(p));
    if (f->kind == LITMUS_LOAD)
        n.order = of_load(n.order);
    if (f->kind == LITMUS_STORE)
        n.order = of_store(n.order);
    explore_litmus_need(p, ")");
    return add_litmus_node(p, n);
}

/* ---- values */

static uint32_t parse_name_node(struct litmus_parser *p)
{
    uint32_t i = explore_litmus_find_location(p->test, &p->now);
    const struct function *f = function_called(&p->now);
    bool one = explore_litmus_is(&p->now, "true");
    if (one || explore_litmus_is(&p->now, "false") || explore_litmus_is(&p->now, "NULL")) {
        explore_litmus_step(p);
        return add_litmus_node(p, (struct litmus_node){.kind = LITMUS_NUMBER, .value = one});
    }
    if (f && has_value(f->kind))
        return parse_call(p, f);
    if (f) {
        explore_litmus_expected(p, &p->now, "a value");
    } else if (i != LITMUS_NONE && (p->test->thread[p->thread].parameters >> i & 1)) {
        explore_litmus_step(p);
        return add_litmus_node(p, (struct litmus_node){.kind = LITMUS_NUMBER, .value = LITMUS_ADDRESS(i)});
    } else if ((i = explore_litmus_find_register(p->test, p->thread, &p->now)) != LITMUS_NONE) {
        explore_litmus_step(p);
        return add_litmus_node(p, (struct litmus_node){.kind = LITMUS_REGISTER, .value = i});
    } else {
        char what[80];
        snprintf(what, sizeof what, "a value: a local or parameter of P%u, or a call that is known", p->thread);
        explore_litmus_expected(p, &p->now, what);
    }
    return 0;
}

static uint32_t parse_cast(struct litmus_parser *p)
{
    struct litmus_node n = {.kind = LITMUS_CAST};
    struct litmus_token t = p->now;
    uint32_t stars = 0;
    explore_litmus_type(p, &n.type, &stars);
    explore_litmus_need(p, ")");
    if (stars)
        n.type = (struct litmus_type){.bytes = 8, .is_pointer = true};
    if (n.type.bytes == 0)
        explore_litmus_expected(p, &t, "a value");
    n.a = parse_unary(p);
    return add_litmus_node(p, n);
}

static uint32_t parse_primary(struct litmus_parser *p)
{
    if (p->now.kind == LITMUS_TOKEN_NUMBER) {
        struct litmus_node n = {.kind = LITMUS_NUMBER, .value = (int64_t)p->now.value};
        explore_litmus_step(p);
        return add_litmus_node(p, n);
    }
    if (p->now.kind == LITMUS_TOKEN_WORD)
        return parse_name_node(p);
    if (!explore_litmus_take(p, "(")) {
        explore_litmus_expected(p, &p->now, "a value");
        return 0;
    }
    if (explore_litmus_type_begins(&p->now))
        return parse_cast(p);
    uint32_t n = parse_value(p);
    explore_litmus_need(p, ")");
    return n;
}

static uint32_t parse_unary(struct litmus_parser *p)
{
    struct litmus_node n = {.kind = LITMUS_UNARY};
    if (p->depth == LITMUS_DEPTH_MAX) {
        explore_litmus_expected(p, &p->now, "at most 64 values and statements within each other");
        return 0;
    }
    p->depth++;
    uint32_t made;
    if (explore_litmus_take(p, "*")) {
        n.kind = LITMUS_PLAIN_LOAD;
        n.a = parse_unary(p);
        made = add_litmus_node(p, n);
    } else if (p->now.kind == LITMUS_TOKEN_MARK && p->now.bytes == 1 && strchr("-+~!", *p->now.begin)) {
        n.mark = *p->now.begin;
        explore_litmus_step(p);
        n.a = parse_unary(p);
        made = add_litmus_node(p, n);
    } else {
        made = parse_primary(p);
    }
    p->depth--;
    return made;
}

/* Binary operators, lowest precedence first. */
static const struct {
    const char *text;
    char mark;
    uint8_t level;
} operators[] = {
    {"||", LITMUS_ELSE, 1},
    {"&&", LITMUS_ALSO, 2},
    {"|", '|', 3},
    {"^", '^', 4},
    {"&", '&', 5},
    {"==", LITMUS_EQUAL, 6},
    {"!=", LITMUS_UNEQUAL, 6},
    {"<", '<', 7},
    {"<=", LITMUS_AT_MOST, 7},
    {">", '>', 7},
    {">=", LITMUS_AT_LEAST, 7},
    {"<<", LITMUS_LEFT, 8},
    {">>", LITMUS_RIGHT, 8},
    {"+", '+', 9},
    {"-", '-', 9},
    {"*", '*', 10},
    {"/", '/', 10},
    {"%", '%', 10},
};

static uint32_t parse_binary(struct litmus_parser *p, uint8_t level)
{
    uint32_t a = parse_unary(p);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (operators[i].level < level || !explore_litmus_is(&p->now, operators[i].text))
            continue;
        struct litmus_node n = {.kind = LITMUS_BINARY, .mark = operators[i].mark, .a = a};
        explore_litmus_step(p);
        n.b = parse_binary(p, operators[i].level + 1);
        a = add_litmus_node(p, n);
        i = (size_t)-1; /* starts again with the first */
    }
    return a;
}

static uint32_t parse_value(struct litmus_parser *p)
{
    uint32_t a = parse_binary(p, 1);
    if (!explore_litmus_is(&p->now, "?"))
        return a;
    struct litmus_node n = {.kind = LITMUS_CHOICE, .a = a};
    if (p->depth == LITMUS_DEPTH_MAX) {
        explore_litmus_expected(p, &p->now, "at most 64 values and statements within each other");
        return 0;
    }
    p->depth++;
    explore_litmus_step(p);
    n.b = parse_value(p);
    explore_litmus_need(p, ":");
    n.c = parse_value(p);
    p->depth--;
    return add_litmus_node(p, n);
}

/* ---- statements */

/* Reads what is assigned to a local or to shared memory, with "=" or another assignment operator. Returns 0 when
 * nothing is assigned. */
static uint32_t parse_assigned(struct litmus_parser *p, uint32_t target)
{
    struct litmus_node n = {.kind = LITMUS_BINARY, .a = target};
    if (explore_litmus_take(p, "="))
        return parse_value(p);
    if (p->now.kind != LITMUS_TOKEN_MARK || p->now.bytes != 2 || p->now.begin[1] != '=' ||
        !strchr("+-&|^", p->now.begin[0]))
        return 0;
    n.mark = p->now.begin[0];
    explore_litmus_step(p);
    n.b = parse_value(p);
    return add_litmus_node(p, n);
}

static void append_statement(struct litmus_parser *p, uint32_t *first, uint32_t *last, uint32_t n)
{
    if (!n)
        return;
    if (!*first)
        *first = n;
    if (*last)
        p->test->node[*last].next = n;
    *last = n;
    while (p->test->node[*last].next)
        *last = p->test->node[*last].next;
}

static uint32_t parse_declaration(struct litmus_parser *p)
{
    struct litmus_type type, own;
    uint32_t stars = 0, first = 0, last = 0;
    if (!explore_litmus_type(p, &type, &stars))
        return 0;
    do {
        for (; explore_litmus_is(&p->now, "*"); stars++)
            explore_litmus_step(p);
        own = stars ? (struct litmus_type){.bytes = 8, .is_pointer = true} : type;
        uint32_t i = p->now.kind == LITMUS_TOKEN_WORD ? explore_litmus_find_location(p->test, &p->now) : LITMUS_NONE;
        bool parameter = i != LITMUS_NONE && (p->test->thread[p->thread].parameters >> i & 1);
        if (p->now.kind != LITMUS_TOKEN_WORD || parameter || own.bytes == 0 || p->now.bytes > 64) {
            explore_litmus_expected(p, &p->now, "the name of a new local");
            return 0;
        }
        struct litmus_node n = {.kind = LITMUS_ASSIGN};
        n.value = explore_litmus_register(p, p->thread, &p->now, &own);
        explore_litmus_step(p);
        if (explore_litmus_take(p, "=")) {
            n.a = parse_value(p);
            append_statement(p, &first, &last, add_litmus_node(p, n));
        }
        stars = 0;
    } while (p->status == STROBE_OK && explore_litmus_take(p, ","));
    return first;
}

/* Declares a local that is assigned without a declaration, as an int. */
static void declare_assigned(struct litmus_parser *p)
{
    static const struct litmus_type type = {.bytes = 4, .is_signed = true};
    struct litmus_lexer ahead = p->lexer;
    struct litmus_token after = explore_litmus_next(&ahead);
    uint32_t i = explore_litmus_find_location(p->test, &p->now);
    if (explore_litmus_is(&after, "=") && (i == LITMUS_NONE || !(p->test->thread[p->thread].parameters >> i & 1)) &&
        p->now.bytes <= 64)
        explore_litmus_register(p, p->thread, &p->now, &type);
}

static uint32_t parse_simple_statement(struct litmus_parser *p)
{
    const struct function *f = function_called(&p->now);
    if (explore_litmus_type_begins(&p->now))
        return parse_declaration(p);
    if (f && !has_value(f->kind))
        return parse_call(p, f);
    if (p->now.kind == LITMUS_TOKEN_WORD)
        declare_assigned(p);
    struct litmus_lexer ahead = p->lexer;
    struct litmus_token one = explore_litmus_next(&ahead), two = explore_litmus_next(&ahead);
    if (explore_litmus_is(&p->now, "(") && explore_litmus_is(&one, "void") && explore_litmus_is(&two, ")")) {
        for (int i = 0; i < 3; i++)
            explore_litmus_step(p);
        return parse_value(p);
    }
    uint32_t target = parse_value(p);
    if (p->status != STROBE_OK)
        return 0;
    struct litmus_node to = p->test->node[target], n = {0};
    if (to.kind != LITMUS_REGISTER && to.kind != LITMUS_PLAIN_LOAD)
        return target;
    uint32_t from = parse_assigned(p, target);
    if (!from)
        return target;
    n.kind = to.kind == LITMUS_REGISTER ? LITMUS_ASSIGN : LITMUS_PLAIN_STORE;
    n.value = to.value;
    n.a = to.kind == LITMUS_REGISTER ? from : to.a;
    n.b = to.kind == LITMUS_REGISTER ? 0 : from;
    return add_litmus_node(p, n);
}

static uint32_t parse_statement(struct litmus_parser *p);

/* Reads ( VALUE ), the condition of the statement that began at `begin`. */
static uint32_t parse_query(struct litmus_parser *p, const char *begin)
{
    explore_litmus_need(p, "(");
    uint32_t a = parse_value(p);
    explore_litmus_need(p, ")");
    end_node_text(p, begin);
    return a;
}

static uint32_t with_body(struct litmus_parser *p, const char *begin)
{
    struct litmus_node n = {0};
    uint32_t text = p->text;
    if (explore_litmus_take(p, "if")) {
        n.kind = LITMUS_IF;
        n.a = parse_query(p, begin);
        n.b = parse_statement(p);
        if (explore_litmus_take(p, "else"))
            n.c = parse_statement(p);
    } else if (explore_litmus_take(p, "while")) {
        n.kind = LITMUS_WHILE;
        n.a = parse_query(p, begin);
        n.b = parse_statement(p);
    } else {
        explore_litmus_need(p, "do");
        n.kind = LITMUS_DO;
        end_node_text(p, begin);
        n.b = parse_statement(p);
        begin_text(p);
        begin = p->now.begin;
        explore_litmus_need(p, "while");
        n.a = parse_query(p, begin);
        explore_litmus_need(p, ";");
        text = p->text;
    }
    p->text = text;
    return add_litmus_node(p, n);
}

static uint32_t parse_statement(struct litmus_parser *p)
{
    const char *begin = p->now.begin;
    uint32_t made = 0;
    if (explore_litmus_take(p, ";") || p->status != STROBE_OK)
        return 0;
    if (p->depth == LITMUS_DEPTH_MAX) {
        explore_litmus_expected(p, &p->now, "at most 64 values and statements within each other");
        return 0;
    }
    p->depth++;
    if (explore_litmus_take(p, "{")) {
        made = explore_litmus_statements(p);
        explore_litmus_need(p, "}");
    } else {
        begin_text(p);
        if (explore_litmus_is(&p->now, "if") || explore_litmus_is(&p->now, "while") ||
            explore_litmus_is(&p->now, "do")) {
            made = with_body(p, begin);
        } else {
            made = parse_simple_statement(p);
            end_node_text(p, begin);
            explore_litmus_need(p, ";");
        }
    }
    p->depth--;
    return made;
}

uint32_t explore_litmus_statements(struct litmus_parser *p)
{
    uint32_t first = 0, last = 0;
    while (p->status == STROBE_OK && !explore_litmus_is(&p->now, "}") && p->now.kind != LITMUS_TOKEN_END)
        append_statement(p, &first, &last, parse_statement(p));
    return first;
}
