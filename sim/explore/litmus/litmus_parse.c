#include "engine/base/error_format.h"
#include "engine/util/array.h"
#include "engine/util/whole_file.h"
#include "sim/explore/litmus/litmus_parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct litmus_type int_type = {.bytes = 4, .is_signed = true};

/* ---- faults */

__attribute__((format(printf, 3, 4))) static void fault(struct litmus_parser *p, const struct litmus_token *at,
                                                        const char *format, ...)
{
    va_list args;
    if (p->status != STROBE_OK)
        return;
    p->status = STROBE_BAD_INPUT;
    strobe_error_set(p->error, "%s:%u:%u: ", p->path, at->line, at->column);
    va_start(args, format);
    strobe_error_add_list(p->error, format, args);
    va_end(args);
    p->now =
        (struct litmus_token){.kind = LITMUS_TOKEN_END, .begin = p->lexer.end, .line = at->line, .column = at->column};
    p->lexer.at = p->lexer.end;
}

void explore_litmus_expected(struct litmus_parser *p, const struct litmus_token *found, const char *what)
{
    int n = (int)(found->bytes < 40 ? found->bytes : 40);
    if (found->kind == LITMUS_TOKEN_END)
        fault(p, found, "expected %s, found the end of the file", what);
    else if (found->wrong)
        fault(p, found, "expected %s, found %s", what, found->wrong);
    else
        fault(p, found, "expected %s, found '%.*s'", what, n, found->begin);
}

void explore_litmus_no_memory(struct litmus_parser *p)
{
    fault(p, &p->now, "expected a test that fits into memory, found none left");
    p->status = STROBE_FULL;
}

/* ---- tokens */

void explore_litmus_step(struct litmus_parser *p)
{
    p->last_end = p->now.begin + p->now.bytes;
    p->now = explore_litmus_next(&p->lexer);
}

bool explore_litmus_take(struct litmus_parser *p, const char *text)
{
    if (!explore_litmus_is(&p->now, text))
        return false;
    explore_litmus_step(p);
    return true;
}

bool explore_litmus_need(struct litmus_parser *p, const char *text)
{
    char what[16];
    if (explore_litmus_take(p, text))
        return true;
    snprintf(what, sizeof what, "'%s'", text);
    explore_litmus_expected(p, &p->now, what);
    return false;
}

/* Takes a word that is not a keyword of the format. */
static bool parse_litmus_name(struct litmus_parser *p, struct litmus_token *out, const char *what)
{
    *out = p->now;
    if (p->now.kind != LITMUS_TOKEN_WORD || p->now.bytes > 64) {
        explore_litmus_expected(p, &p->now, what);
        return false;
    }
    explore_litmus_step(p);
    return true;
}

/* ---- names */

bool explore_litmus_room(struct litmus_parser *p, void *array, uint32_t *room, uint32_t count, size_t bytes)
{
    if (count < *room || strobe_array_grow(array, bytes, room, sizeof *room, (size_t)count + 1, false))
        return true;
    explore_litmus_no_memory(p);
    return false;
}

static uint32_t find_litmus_name(const struct litmus_name *names, uint32_t count, const struct litmus_token *t)
{
    for (uint32_t i = 0; i < count; i++)
        if (strlen(names[i].text) == t->bytes && !memcmp(names[i].text, t->begin, t->bytes))
            return i;
    return LITMUS_NONE;
}

uint32_t explore_litmus_find_location(const struct explore_litmus *test, const struct litmus_token *t)
{
    return find_litmus_name(test->location, test->location_count, t);
}

uint32_t explore_litmus_find_register(const struct explore_litmus *test, uint32_t thread, const struct litmus_token *t)
{
    return find_litmus_name(test->thread[thread].reg, test->thread[thread].register_count, t);
}

static uint32_t add_litmus_name(struct litmus_parser *p, struct litmus_name *names, uint32_t *count, uint32_t max,
                                const struct litmus_token *t, const struct litmus_type *type)
{
    uint32_t i = find_litmus_name(names, *count, t);
    if (p->status != STROBE_OK)
        return LITMUS_NONE;
    if (i == LITMUS_NONE) {
        i = *count;
        if (i == max) {
            fault(p, t, "expected at most %u names here, found another, '%.*s'", max, (int)t->bytes, t->begin);
            return LITMUS_NONE;
        }
        names[i] = (struct litmus_name){.text = explore_litmus_line(p, t->begin, t->begin + t->bytes)};
        if (!names[i].text)
            return LITMUS_NONE;
        ++*count;
    }
    if (type && names[i].type.bytes == 0)
        names[i].type = *type;
    return i;
}

uint32_t explore_litmus_location(struct litmus_parser *p, const struct litmus_token *t, const struct litmus_type *type)
{
    return add_litmus_name(p, p->test->location, &p->test->location_count, LITMUS_LOCATIONS_MAX, t, type);
}

uint32_t explore_litmus_register(struct litmus_parser *p, uint32_t thread, const struct litmus_token *t,
                                 const struct litmus_type *type)
{
    struct litmus_thread *of = &p->test->thread[thread];
    return add_litmus_name(p, of->reg, &of->register_count, LITMUS_REGISTERS_MAX, t, type);
}

char *explore_litmus_line(struct litmus_parser *p, const char *begin, const char *end)
{
    char *line = malloc((size_t)(end - begin) + 1), *to = line;
    if (!line) {
        explore_litmus_no_memory(p);
        return NULL;
    }
    for (const char *c = begin; c < end; c++) {
        bool blank = (unsigned char)*c <= ' ';
        if (!blank)
            *to++ = *c;
        else if (to > line && to[-1] != ' ')
            *to++ = ' ';
    }
    *to = '\0';
    return line;
}

/* ---- the initial state */

/* Reads a number or a location's address. */
static bool parse_litmus_value(struct litmus_parser *p, int64_t *out)
{
    bool minus = explore_litmus_take(p, "-");
    bool address = !minus && explore_litmus_take(p, "&");
    if (!address && p->now.kind == LITMUS_TOKEN_NUMBER) {
        *out = (int64_t)(minus ? 0 - p->now.value : p->now.value);
        explore_litmus_step(p);
        return true;
    }
    if (minus || p->now.kind != LITMUS_TOKEN_WORD) {
        explore_litmus_expected(p, &p->now, address ? "the name of a location" : "a number or the name of a location");
        return false;
    }
    uint32_t i = explore_litmus_location(p, &p->now, NULL);
    if (i == LITMUS_NONE)
        return false;
    *out = LITMUS_ADDRESS(i);
    explore_litmus_step(p);
    return true;
}

/* Reads THREAD: before a local's name. */
static uint32_t thread_number(struct litmus_parser *p)
{
    uint32_t thread = (uint32_t)p->now.value;
    if (p->now.value >= EXPLORE_THREADS_MAX) {
        explore_litmus_expected(p, &p->now, "the number of a thread from 0 to 4");
        return LITMUS_NONE;
    }
    explore_litmus_step(p);
    return explore_litmus_need(p, ":") ? thread : LITMUS_NONE;
}

static struct litmus_name *parse_initial_value(struct litmus_parser *p)
{
    struct litmus_type type = int_type;
    struct litmus_token t;
    uint32_t stars = 0, i;
    bool typed = explore_litmus_type_begins(&p->now);
    if (typed && !explore_litmus_type(p, &type, &stars))
        return NULL;
    if (stars)
        type = (struct litmus_type){.bytes = 8, .is_pointer = true};
    while (!typed && explore_litmus_take(p, "*"))
        ;
    if (p->now.kind == LITMUS_TOKEN_NUMBER) {
        uint32_t thread = thread_number(p);
        if (thread == LITMUS_NONE || !parse_litmus_name(p, &t, "the name of a local"))
            return NULL;
        i = explore_litmus_register(p, thread, &t, typed ? &type : NULL);
        return i == LITMUS_NONE ? NULL : &p->test->thread[thread].reg[i];
    }
    bool bracket = explore_litmus_take(p, "[");
    if (!parse_litmus_name(p, &t, "the name of a location or '}'") || (bracket && !explore_litmus_need(p, "]")))
        return NULL;
    if (explore_litmus_is(&p->now, "["))
        explore_litmus_expected(p, &p->now, "no array");
    i = explore_litmus_location(p, &t, typed ? &type : NULL);
    return i == LITMUS_NONE ? NULL : &p->test->location[i];
}

static void initial_state(struct litmus_parser *p)
{
    explore_litmus_need(p, "{");
    while (p->status == STROBE_OK && !explore_litmus_take(p, "}")) {
        if (explore_litmus_take(p, ";") || explore_litmus_take(p, ","))
            continue;
        struct litmus_name *is = parse_initial_value(p);
        int64_t v = 0;
        if (is && explore_litmus_take(p, "=")) {
            bool init = explore_litmus_take(p, "ATOMIC_INIT") || explore_litmus_take(p, "ATOMIC_VAR_INIT");
            if ((init && !explore_litmus_need(p, "(")) || !parse_litmus_value(p, &v) ||
                (init && !explore_litmus_need(p, ")")))
                return;
            is->initial = v;
        }
        if (!explore_litmus_is(&p->now, "}") && !explore_litmus_is(&p->now, ","))
            explore_litmus_need(p, ";");
    }
}

/* ---- threads */

static void parse_parameter(struct litmus_parser *p)
{
    struct litmus_type type;
    struct litmus_token t;
    uint32_t stars = 0;
    if (!explore_litmus_type_begins(&p->now))
        explore_litmus_expected(p, &p->now, "the type of a parameter");
    if (!explore_litmus_type(p, &type, &stars))
        return;
    if (stars == 0)
        explore_litmus_expected(p, &p->now, "'*': a parameter points to a shared location");
    if (stars > 1) /* the type of the location is what it points to */
        type = (struct litmus_type){.bytes = 8, .is_pointer = true};
    if (!parse_litmus_name(p, &t, "the name of a parameter"))
        return;
    uint32_t i = explore_litmus_location(p, &t, &type);
    if (i != LITMUS_NONE)
        p->test->thread[p->thread].parameters |= UINT64_C(1) << i;
}

static bool thread_begins(const struct litmus_token *t, uint32_t *number)
{
    if (t->kind != LITMUS_TOKEN_WORD || t->begin[0] != 'P' || t->bytes < 2 || t->bytes > 6)
        return false;
    *number = 0;
    for (size_t i = 1; i < t->bytes; i++) {
        if (t->begin[i] < '0' || t->begin[i] > '9')
            return false;
        *number = 10 * *number + (uint32_t)(t->begin[i] - '0');
    }
    return true;
}

static void parse_litmus_thread(struct litmus_parser *p)
{
    p->thread = p->test->program.thread_count++;
    explore_litmus_step(p);
    explore_litmus_need(p, "(");
    if (!explore_litmus_take(p, ")")) {
        if (!explore_litmus_take(p, "void") || explore_litmus_is(&p->now, "*"))
            do
                parse_parameter(p);
            while (explore_litmus_take(p, ","));
        explore_litmus_need(p, ")");
    }
    p->lexer.in_code = true;
    explore_litmus_need(p, "{");
    p->test->thread[p->thread].body = explore_litmus_statements(p);
    p->lexer.in_code = false;
    explore_litmus_need(p, "}");
}

static void parse_litmus_threads(struct litmus_parser *p)
{
    uint32_t number;
    for (;;) {
        while (explore_litmus_take(p, "static") || explore_litmus_take(p, "void"))
            ;
        if (p->status != STROBE_OK || !thread_begins(&p->now, &number))
            break;
        char what[48];
        uint32_t count = p->test->program.thread_count;
        if (number != count || count == EXPLORE_THREADS_MAX) {
            snprintf(what, sizeof what, count < EXPLORE_THREADS_MAX ? "thread P%u" : "at most %u threads", count);
            explore_litmus_expected(p, &p->now, what);
            return;
        }
        parse_litmus_thread(p);
    }
    if (p->test->program.thread_count == 0)
        explore_litmus_expected(p, &p->now, "thread P0");
}

/* ---- the condition */

static uint32_t add_litmus_item(struct litmus_parser *p, uint32_t of, uint32_t index)
{
    struct explore_litmus *test = p->test;
    for (uint32_t i = 0; i < test->item_count; i++)
        if (test->item[i].thread == of && test->item[i].index == index)
            return i;
    if (!explore_litmus_room(p, &test->item, &test->item_room, test->item_count, sizeof *test->item))
        return LITMUS_NONE;
    test->item[test->item_count] = (struct litmus_item){of, index};
    return test->item_count++;
}

/* 0:r0, x, [x], *x */
static uint32_t parse_observed(struct litmus_parser *p, const char *what)
{
    struct litmus_token t;
    uint32_t i;
    if (p->now.kind == LITMUS_TOKEN_NUMBER) {
        uint32_t of = thread_number(p);
        if (of == LITMUS_NONE || !parse_litmus_name(p, &t, "the name of a local"))
            return LITMUS_NONE;
        i = of < p->test->program.thread_count ? explore_litmus_find_register(p->test, of, &t) : LITMUS_NONE;
        if (i != LITMUS_NONE)
            return add_litmus_item(p, of, i);
        char expected[48];
        snprintf(expected, sizeof expected, "the name of a local of P%u", of);
        explore_litmus_expected(p, &t, expected);
        return LITMUS_NONE;
    }
    bool star = explore_litmus_take(p, "*"), bracket = !star && explore_litmus_take(p, "[");
    if (!parse_litmus_name(p, &t, star || bracket ? "the name of a location" : what))
        return LITMUS_NONE;
    i = explore_litmus_find_location(p->test, &t);
    if (i == LITMUS_NONE)
        explore_litmus_expected(p, &t, "the name of a location");
    else if (!bracket || explore_litmus_need(p, "]"))
        return add_litmus_item(p, LITMUS_NO_THREAD, i);
    return LITMUS_NONE;
}

static void parse_locations(struct litmus_parser *p)
{
    explore_litmus_need(p, "[");
    while (p->status == STROBE_OK && !explore_litmus_take(p, "]")) {
        parse_observed(p, "the name of a location, a local (as 0:r0) or ']'");
        if (explore_litmus_type_begins(&p->now) || explore_litmus_is(&p->now, "*")) {
            struct litmus_type type;
            uint32_t stars = 0;
            if (!explore_litmus_take(p, "*"))
                explore_litmus_type(p, &type, &stars);
        }
        if (!explore_litmus_is(&p->now, "]"))
            explore_litmus_need(p, ";");
    }
}

static uint32_t add_litmus_claim(struct litmus_parser *p, enum litmus_claim kind, uint32_t a, uint32_t b, int64_t v)
{
    struct explore_litmus *test = p->test;
    if (p->status != STROBE_OK ||
        !explore_litmus_room(p, &test->claim, &test->prop_room, test->prop_count, sizeof *test->claim))
        return 0;
    test->claim[test->prop_count] = (struct litmus_prop){.kind = kind, .a = a, .b = b, .value = v};
    return test->prop_count++;
}

static uint32_t parse_proposition(struct litmus_parser *p);

static uint32_t parse_condition_atom(struct litmus_parser *p)
{
    uint32_t left = parse_observed(p, "a claim (as 0:r0=1)"), right;
    bool unequal = explore_litmus_is(&p->now, "!=");
    int64_t v = 0;
    if (left == LITMUS_NONE)
        return 0;
    if (!unequal && !explore_litmus_is(&p->now, "=") && !explore_litmus_is(&p->now, "==")) {
        explore_litmus_expected(p, &p->now, "'=' or '!='");
        return 0;
    }
    explore_litmus_step(p);
    struct litmus_lexer ahead = p->lexer;
    struct litmus_token after = explore_litmus_next(&ahead);
    if (explore_litmus_is(&p->now, "[") || explore_litmus_is(&p->now, "*") ||
        (p->now.kind == LITMUS_TOKEN_NUMBER && explore_litmus_is(&after, ":"))) {
        right = parse_observed(p, "a value");
        left = right == LITMUS_NONE ? 0 : add_litmus_claim(p, LITMUS_SAME, left, right, 0);
    } else {
        struct litmus_token t = p->now;
        uint32_t count = p->test->location_count;
        if (!parse_litmus_value(p, &v))
            return 0;
        if (count != p->test->location_count)
            explore_litmus_expected(p, &t, "a number or the name of a location");
        left = add_litmus_claim(p, LITMUS_CONSTANT, left, 0, v);
    }
    return unequal ? add_litmus_claim(p, LITMUS_NOT, left, 0, 0) : left;
}

static uint32_t parse_negation(struct litmus_parser *p)
{
    uint32_t a = 0;
    if (++p->depth > LITMUS_DEPTH_MAX)
        explore_litmus_expected(p, &p->now, "at most 64 propositions within each other");
    else if (explore_litmus_take(p, "not") || explore_litmus_take(p, "~") || explore_litmus_take(p, "!"))
        a = add_litmus_claim(p, LITMUS_NOT, parse_negation(p), 0, 0);
    else if (explore_litmus_take(p, "true"))
        a = add_litmus_claim(p, LITMUS_TRUE, 0, 0, 1);
    else if (explore_litmus_take(p, "false"))
        a = add_litmus_claim(p, LITMUS_TRUE, 0, 0, 0);
    else if (explore_litmus_take(p, "(")) {
        a = parse_proposition(p);
        explore_litmus_need(p, ")");
    } else {
        a = parse_condition_atom(p);
    }
    p->depth--;
    return a;
}

/* In herd, "=>" binds before "and", and associates to the right. */
static uint32_t parse_implication(struct litmus_parser *p)
{
    uint32_t a = parse_negation(p), b;
    if (!explore_litmus_is(&p->now, "=>"))
        return a;
    if (++p->depth > LITMUS_DEPTH_MAX) {
        explore_litmus_expected(p, &p->now, "at most 64 propositions within each other");
        return 0;
    }
    explore_litmus_step(p);
    b = parse_implication(p);
    p->depth--;
    return add_litmus_claim(p, LITMUS_IMPLIES, a, b, 0);
}

static uint32_t parse_conjunction(struct litmus_parser *p)
{
    uint32_t a = parse_implication(p);
    while (explore_litmus_take(p, "/\\") || explore_litmus_take(p, "&&"))
        a = add_litmus_claim(p, LITMUS_BOTH, a, parse_implication(p), 0);
    return a;
}

static uint32_t parse_proposition(struct litmus_parser *p)
{
    uint32_t a = parse_conjunction(p);
    while (explore_litmus_take(p, "\\/") || explore_litmus_take(p, "||"))
        a = add_litmus_claim(p, LITMUS_EITHER, a, parse_conjunction(p), 0);
    return a;
}

static void parse_condition(struct litmus_parser *p)
{
    const char *begin = p->now.begin;
    p->test->quantifier = EXPLORE_EXISTS;
    if (p->now.kind == LITMUS_TOKEN_END)
        return;
    if (explore_litmus_take(p, "forall")) {
        p->test->quantifier = EXPLORE_FORALL;
    } else if (explore_litmus_take(p, "~") || explore_litmus_take(p, "not")) {
        p->test->quantifier = EXPLORE_NOT_EXISTS;
        explore_litmus_need(p, "exists");
    } else if (!explore_litmus_take(p, "exists") && !explore_litmus_take(p, "final") &&
               !explore_litmus_is(&p->now, "(")) {
        char what[80];
        snprintf(what, sizeof what, "%sexists, ~exists, forall or the end of the file",
                 p->test->item_count ? "" : "a thread, locations, filter, ");
        explore_litmus_expected(p, &p->now, what);
        return;
    }
    p->test->prop = parse_proposition(p);
    p->test->condition = p->status == STROBE_OK ? explore_litmus_line(p, begin, p->last_end) : NULL;
    explore_litmus_take(p, ";");
    if (p->now.kind != LITMUS_TOKEN_END)
        explore_litmus_expected(p, &p->now, "the end of the file");
}

/* ---- files */

static void parse_litmus_head(struct litmus_parser *p)
{
    explore_litmus_step(p);
    if (!explore_litmus_is(&p->now, "C"))
        explore_litmus_expected(p, &p->now, "'C' and the test's name");
    if (p->status != STROBE_OK)
        return;
    struct litmus_token t = explore_litmus_rest_of_line(&p->lexer);
    for (size_t i = 0; i < t.bytes; i++)
        if (t.begin[i] < ' ' || t.begin[i] > '~')
            t.bytes = 0;
    if (t.bytes == 0 || t.bytes > 200) {
        fault(p, &t, "expected the test's name, at most 200 characters of ASCII, on the line of the 'C'");
        return;
    }
    p->test->name = explore_litmus_line(p, t.begin, t.begin + t.bytes);
    explore_litmus_skip_to(&p->lexer, '{');
    explore_litmus_step(p);
}

static const struct litmus_name *litmus_item_name(const struct explore_litmus *test, const struct litmus_item *i)
{
    return i->thread == LITMUS_NO_THREAD ? &test->location[i->index] : &test->thread[i->thread].reg[i->index];
}

static bool stands_before(const struct explore_litmus *test, const struct litmus_item *a, const struct litmus_item *b)
{
    return a->thread != b->thread ? a->thread < b->thread
                                  : strcmp(litmus_item_name(test, a)->text, litmus_item_name(test, b)->text) < 0;
}

/* Puts the items into the order of printing, and updates the claims, which name items by index. */
static void order_items(struct explore_litmus *test)
{
    for (uint32_t i = 0; i < test->item_count; i++) {
        uint32_t least = i;
        for (uint32_t k = i + 1; k < test->item_count; k++)
            if (stands_before(test, &test->item[k], &test->item[least]))
                least = k;
        struct litmus_item was = test->item[i];
        test->item[i] = test->item[least];
        test->item[least] = was;
        for (uint32_t k = 1; least != i && k < test->prop_count; k++) {
            struct litmus_prop *c = &test->claim[k];
            bool one = c->kind == LITMUS_CONSTANT || c->kind == LITMUS_SAME;
            if (one)
                c->a = c->a == i ? least : c->a == least ? i : c->a;
            if (c->kind == LITMUS_SAME)
                c->b = c->b == i ? least : c->b == least ? i : c->b;
        }
    }
}

static void settle_litmus_registers(struct explore_litmus *test)
{
    for (uint32_t i = 0; i < test->location_count; i++)
        if (test->location[i].type.bytes == 0)
            test->location[i].type = int_type;
    for (uint32_t t = 0; t < EXPLORE_THREADS_MAX; t++)
        for (uint32_t i = 0; i < test->thread[t].register_count; i++)
            if (test->thread[t].reg[i].type.bytes == 0)
                test->thread[t].reg[i].type = int_type;
    order_items(test);
}

static void parse_litmus_file(struct litmus_parser *p)
{
    parse_litmus_head(p);
    initial_state(p);
    parse_litmus_threads(p);
    if (explore_litmus_take(p, "locations"))
        parse_locations(p);
    if (explore_litmus_take(p, "filter"))
        p->test->filter = parse_proposition(p);
    parse_condition(p);
    if (p->status == STROBE_OK)
        settle_litmus_registers(p->test);
}

enum strobe_status explore_litmus_parse(const char *text, size_t bytes, const char *path, struct explore_litmus **out,
                                        struct strobe_error *error)
{
    struct litmus_parser p = {.path = path, .error = error, .now.begin = text, .last_end = text};
    *out = NULL;
    explore_litmus_lexer_open(&p.lexer, text, bytes);
    p.test = calloc(1, sizeof *p.test);
    if (!p.test) {
        explore_litmus_no_memory(&p);
        return p.status;
    }
    p.test->prop_count = p.test->node_count = 1; /* 0 is none */
    p.test->path = explore_litmus_line(&p, path, path + strlen(path));
    if (p.test->path && explore_litmus_room(&p, &p.test->claim, &p.test->prop_room, 0, sizeof *p.test->claim) &&
        explore_litmus_room(&p, &p.test->node, &p.test->node_room, 0, sizeof *p.test->node)) {
        memset(p.test->node, 0, sizeof *p.test->node);
        parse_litmus_file(&p);
    }
    if (p.status != STROBE_OK) {
        explore_litmus_free(p.test);
        return p.status;
    }
    *out = p.test;
    return STROBE_OK;
}

enum strobe_status explore_litmus_read(const char *path, struct explore_litmus **out, struct strobe_error *error)
{
    enum { BYTES_MAX = 1 << 20 };
    char *text;
    size_t bytes;
    *out = NULL;
    enum strobe_status status = strobe_whole_file_read(path, BYTES_MAX, &text, &bytes);
    if (status == STROBE_OK)
        status = explore_litmus_parse(text, bytes, path, out, error);
    else
        strobe_error_set(error, "%s: expected a litmus test: %s", path,
                         errno == EFBIG ? "larger than 1 MiB" : strerror(errno));
    free(text);
    return status;
}

static void free_names(struct litmus_name *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(names[i].text);
}

void explore_litmus_free(struct explore_litmus *test)
{
    if (!test)
        return;
    free_names(test->location, test->location_count);
    for (uint32_t t = 0; t < EXPLORE_THREADS_MAX; t++)
        free_names(test->thread[t].reg, test->thread[t].register_count);
    for (uint32_t i = 0; i < test->text_count; i++)
        free(test->text[i]);
    free(test->text);
    free(test->name);
    free(test->path);
    free(test->condition);
    free(test->node);
    free(test->claim);
    free(test->item);
    free(test);
}

const char *explore_litmus_name(const struct explore_litmus *test)
{
    return test->name;
}

const char *explore_litmus_condition(const struct explore_litmus *test)
{
    return test->condition ? test->condition : "";
}

enum explore_quantifier explore_litmus_quantifier(const struct explore_litmus *test)
{
    return test->quantifier;
}
