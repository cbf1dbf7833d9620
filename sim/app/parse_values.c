#include "sim/app/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static bool keep_text(struct sim_parser *p, const char **out)
{
    char *text = sim_scenario_take(p->s, p->token.bytes + 1);
    if (!text)
        return sim_parse_no_memory(p);
    sim_token_text(&p->token, text);
    *out = text;
    sim_parse_next(p);
    return true;
}

bool sim_parse_name(struct sim_parser *p, const char *what, const char **out)
{
    if (p->token.kind != SIM_TOKEN_WORD && p->token.kind != SIM_TOKEN_TEXT)
        return sim_parse_expected(p, "%s", what);
    if (p->token.bytes > SIM_NAME_MAX || (p->token.kind == SIM_TOKEN_TEXT && p->token.bytes == 2))
        return sim_parse_expected(p, "%s of 1 to %d bytes", what, SIM_NAME_MAX);
    return keep_text(p, out);
}

bool sim_parse_text(struct sim_parser *p, const char *what, const char **out)
{
    if (p->token.kind != SIM_TOKEN_TEXT)
        return sim_parse_expected(p, "%s", what);
    return keep_text(p, out);
}

/* FNV-1a (Fowler, Noll, Vo). */
static uint32_t hash(enum sim_table table, const char *name)
{
    uint32_t h = 2166136261u ^ (uint32_t)table;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h ^ h >> 15;
}

/* Returns the entry of the name, or the free entry for it. */
static struct sim_declared *slot(struct sim_declared *declared, uint32_t room, enum sim_table table, const char *name)
{
    uint32_t i = hash(table, name) & (room - 1);
    while (declared[i].name && (declared[i].table != table || strcmp(declared[i].name, name) != 0))
        i = (i + 1) & (room - 1);
    return &declared[i];
}

static bool grow_value_buffer(struct sim_parser *p)
{
    uint32_t room = p->declared_room ? p->declared_room * 2 : 64;
    struct sim_declared *wider = calloc(room, sizeof *wider);
    if (!wider)
        return sim_parse_no_memory(p);
    for (uint32_t i = 0; i < p->declared_room; i++)
        if (p->declared[i].name)
            *slot(wider, room, p->declared[i].table, p->declared[i].name) = p->declared[i];
    free(p->declared);
    p->declared = wider;
    p->declared_room = room;
    return true;
}

bool sim_parse_declare(struct sim_parser *p, enum sim_table table, const char *name, uint32_t index,
                       const struct sim_place *place)
{
    if (p->declared_count * 2 >= p->declared_room && !grow_value_buffer(p))
        return false;
    struct sim_declared *d = slot(p->declared, p->declared_room, table, name);
    if (d->name)
        return sim_parse_fault(p, place, "expected a new name, found '%s', which is declared at %s:%u:%u", name,
                               d->place.source->path, d->place.line, d->place.column);
    *d = (struct sim_declared){name, table, index, *place};
    p->declared_count++;
    return true;
}

const struct sim_declared *sim_parse_find(const struct sim_parser *p, enum sim_table table, const char *name)
{
    const struct sim_declared *d = p->declared_room ? slot(p->declared, p->declared_room, table, name) : NULL;
    return d && d->name ? d : NULL;
}

bool sim_parse_mention_as(struct sim_parser *p, enum sim_arg wanted, const char *name, const struct sim_place *place,
                          uint32_t *out)
{
    struct sim_mention *mentions = sim_array_grow(p->mentions, p->mention_count, sizeof *mentions);
    if (!mentions)
        return sim_parse_no_memory(p);
    p->mentions = mentions;
    p->mentions[p->mention_count] = (struct sim_mention){wanted, name, *place};
    *out = p->mention_count++;
    return true;
}

bool sim_parse_mention(struct sim_parser *p, enum sim_arg wanted, uint32_t *out)
{
    struct sim_place place = sim_parse_place(p);
    char what[64];
    const char *name;
    snprintf(what, sizeof what, "the name of %s", sim_arg_text(wanted));
    return sim_parse_name(p, what, &name) && sim_parse_mention_as(p, wanted, name, &place, out);
}

/* ---- numbers ---- */

static uint64_t power_of_ten(unsigned n)
{
    uint64_t power = 1;
    while (n--)
        power *= 10;
    return power;
}

/* Computes digits * factor / 10^decimals. False unless it is a whole number of at most `high`. */
static bool scale(const struct sim_number *n, uint64_t factor, uint64_t high, uint64_t *out)
{
    uint64_t digits = n->digits;
    unsigned decimals = n->decimals;
    for (; decimals && digits % 10 == 0; decimals--)
        digits /= 10;
    for (; decimals && factor % 10 == 0; decimals--)
        factor /= 10;
    if (digits && factor > UINT64_MAX / digits)
        return false;
    uint64_t product = digits * factor, divisor = power_of_ten(decimals);
    *out = product / divisor;
    return product % divisor == 0 && *out <= high;
}

static bool unit_is(const struct sim_number *n, const char *name)
{
    return strlen(name) == n->unit_bytes && !memcmp(name, n->unit, n->unit_bytes);
}

/* Reads the token as a number in one of the units. Returns false, without a fault, when it is none. */
static bool in_units(const struct sim_token *t, const struct sim_unit *units, uint64_t low, uint64_t high,
                     uint64_t *out)
{
    struct sim_number n;
    if (t->kind != SIM_TOKEN_NUMBER || !sim_token_number(t, &n) || n.negative)
        return false;
    for (const struct sim_unit *u = units; u->name; u++)
        if (unit_is(&n, u->name))
            return scale(&n, u->factor, high, out) && *out >= low;
    *out = 0;
    return n.digits == 0 && n.unit_bytes == 0 && low == 0; /* 0 needs no unit */
}

bool sim_parse_count(struct sim_parser *p, const char *what, uint64_t low, uint64_t high, uint64_t *out)
{
    static const struct sim_unit plain[] = {{"", 1}, {NULL, 0}};
    if (!in_units(&p->token, plain, low, high, out))
        return sim_parse_expected(p, "%s from %llu to %llu", what, (unsigned long long)low, (unsigned long long)high);
    sim_parse_next(p);
    return true;
}

bool sim_parse_int(struct sim_parser *p, const char *what, int low, int high, int *out)
{
    struct sim_number n;
    bool fits = p->token.kind == SIM_TOKEN_NUMBER && sim_token_number(&p->token, &n) && !n.decimals && !n.unit_bytes &&
                n.digits < 1000000;
    int value = fits ? (n.negative ? -1 : 1) * (int)n.digits : 0;
    if (!fits || value < low || value > high)
        return sim_parse_expected(p, "%s from %d to %d", what, low, high);
    *out = value;
    sim_parse_next(p);
    return true;
}

/* Digits and power of ten are exact in a double, so their quotient is the double nearest to the text. */
static bool decimal(const struct sim_token *t, double *out)
{
    struct sim_number n;
    if (t->kind != SIM_TOKEN_NUMBER || !sim_token_number(t, &n) || n.negative || n.unit_bytes ||
        n.digits >= power_of_ten(15))
        return false;
    *out = (double)n.digits / (double)power_of_ten(n.decimals);
    return true;
}

bool sim_parse_decimal(struct sim_parser *p, const char *what, double low, double high, double *out)
{
    if (!decimal(&p->token, out) || *out < low || *out > high)
        return sim_parse_expected(p, "%s from %g to %g", what, low, high);
    sim_parse_next(p);
    return true;
}

bool sim_parse_range(struct sim_parser *p, double *low, double *high)
{
    static const char what[] = "a range, as 0.95..1";
    if (!decimal(&p->token, low))
        return sim_parse_expected(p, "%s", what);
    sim_parse_next(p);
    if (!sim_token_is(&p->token, ".."))
        return sim_parse_expected(p, "'..' (%s)", what);
    sim_parse_next(p);
    if (!decimal(&p->token, high) || *high < *low)
        return sim_parse_expected(p, "an upper end that is not below the lower (%s)", what);
    sim_parse_next(p);
    return true;
}

/* ---- times and sizes ---- */

/* The values of a distribution: their units, bounds and name in messages. */
struct class
{
    const char *what; /* "expected WHAT", for a token that is no value */
    const struct sim_unit *units;
    uint64_t low, high;
};

static const struct sim_unit no_units[] = {{"", 1}, {NULL, 0}};
static const struct class times = {"a time (as 2ms) of at most 1000h, a whole number of ns", sim_time_units, 0,
                                   SIM_TIME_MAX_NS};
static const struct class timeouts = {"a time (as 2ms) from 1ns to 1000h, a whole number of ns", sim_time_units, 1,
                                      SIM_TIME_MAX_NS};
static const struct class sizes = {"a size (as 64 or 4KiB) of at most 1024GiB", sim_size_units, 0, SIM_BYTES_MAX};
static const struct class counts = {"a number from 0 to 1000000", no_units, 0, SIM_TIMES_MAX};
static const struct class depths = {"a depth from 1 to 10000", no_units, 1, SIM_DEPTH_MAX};

static const struct class *value_class_of(enum sim_arg arg)
{
    switch (arg) {
    case SIM_ARG_TIME: return &times;
    case SIM_ARG_TIMEOUT: return &timeouts;
    case SIM_ARG_TIMES: return &counts;
    case SIM_ARG_DEPTH: return &depths;
    default: return &sizes;
    }
}

static bool parse_one_value(struct sim_parser *p, const struct class *class, uint64_t *out)
{
    if (!in_units(&p->token, class->units, class->low, class->high, out))
        return sim_parse_expected(p, "%s", class->what);
    sim_parse_next(p);
    return true;
}

bool sim_parse_time(struct sim_parser *p, uint64_t low_ns, uint64_t high_ns, uint64_t *out)
{
    uint64_t ns;
    if (!in_units(&p->token, sim_time_units, 0, SIM_TIME_MAX_NS, &ns))
        return sim_parse_expected(p, "%s", times.what);
    if (ns < low_ns || ns > high_ns)
        return sim_parse_expected(p, "a time from %lluns to %lluns", (unsigned long long)low_ns,
                                  (unsigned long long)high_ns);
    *out = ns;
    sim_parse_next(p);
    return true;
}

bool sim_parse_size(struct sim_parser *p, uint64_t low, uint64_t high, uint64_t *out)
{
    if (!in_units(&p->token, sim_size_units, low, high, out))
        return sim_parse_expected(p, "a size from %llu to %llu bytes", (unsigned long long)low,
                                  (unsigned long long)high);
    sim_parse_next(p);
    return true;
}

bool sim_parse_any_amount(struct sim_parser *p, uint64_t *out)
{
    if (!in_units(&p->token, sim_time_units, 1, SIM_TIME_MAX_NS, out) &&
        !in_units(&p->token, sim_size_units, 1, SIM_BYTES_MAX, out))
        return sim_parse_expected(p, "a time, a size or a number, at least 1");
    sim_parse_next(p);
    return true;
}

static bool parse_value_list(struct sim_parser *p, const struct class *class, struct sim_dist *out)
{
    uint64_t values[SIM_LIST_MAX];
    do {
        if (out->count == SIM_LIST_MAX)
            return sim_parse_expected(p, "at most %d values", SIM_LIST_MAX);
        if (!parse_one_value(p, class, &values[out->count]))
            return false;
        out->count++;
    } while (sim_parse_accept(p, ","));
    uint64_t *kept = sim_scenario_take(p->s, out->count * sizeof *kept);
    if (!kept)
        return sim_parse_no_memory(p);
    memcpy(kept, values, out->count * sizeof *kept);
    out->values = kept;
    return true;
}

static bool arguments(struct sim_parser *p, const struct class *class, struct sim_dist *out)
{
    if (!sim_parse_expect(p, "("))
        return false;
    if (out->kind == SIM_DIST_LIST)
        return parse_value_list(p, class, out) && sim_parse_expect(p, ")");
    if (!parse_one_value(p, class, &out->a))
        return false;
    if (out->kind == SIM_DIST_LOGNORMAL &&
        (!sim_parse_expect(p, ",") || !sim_parse_decimal(p, "a sigma", 0, SIM_SIGMA_MAX, &out->sigma)))
        return false;
    return sim_parse_expect(p, ")");
}

static bool constant_or_uniform(struct sim_parser *p, const struct class *class, struct sim_dist *out)
{
    if (!parse_one_value(p, class, &out->a))
        return false;
    if (!sim_parse_accept(p, ".."))
        return true;
    out->kind = SIM_DIST_UNIFORM;
    if (!in_units(&p->token, class->units, class->low, class->high, &out->b))
        return sim_parse_expected(p, "%s", class->what);
    if (out->b < out->a)
        return sim_parse_expected(p, "an upper end that is not below the lower");
    sim_parse_next(p);
    return true;
}

bool sim_parse_dist(struct sim_parser *p, enum sim_arg arg, struct sim_dist *out)
{
    static const struct {
        const char *word;
        enum sim_dist_kind kind;
    } words[] = {
        {"exp", SIM_DIST_EXPONENTIAL},
        {"lognormal", SIM_DIST_LOGNORMAL},
        {"one_of", SIM_DIST_LIST},
    };
    const struct class *class = value_class_of(arg);
    *out = sim_dist_constant(0);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!sim_token_is(&p->token, words[i].word))
            continue;
        out->kind = words[i].kind;
        sim_parse_next(p);
        return arguments(p, class, out);
    }
    return constant_or_uniform(p, class, out);
}
