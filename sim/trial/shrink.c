#include "sim/trial/shrink.h"
#include "engine/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy of the scenario's tables, from which parts are removed. Texts and lists stay the original's. A block that
 * loses operations keeps its position and becomes shorter. */
struct draft {
    struct sim_scenario s;
};

struct shrinker {
    const struct sim_shrink_options *o;
    char *best;               /* the smallest failing scenario, as text */
    struct sim_scenario *now; /* the same, parsed */
    uint32_t tries;
    bool no_memory;
};

static void *copied(const void *from, size_t count, size_t bytes, bool *failed)
{
    void *to = malloc(count * bytes + 1);
    if (!to)
        *failed = true;
    else if (count)
        memcpy(to, from, count * bytes);
    return to;
}

static bool draft_open(struct draft *d, const struct sim_scenario *s)
{
    bool failed = false;
    d->s = *s;
    d->s.memory = NULL;
    d->s.ops = copied(s->ops, s->op_count, sizeof *s->ops, &failed);
    d->s.blocks = copied(s->blocks, s->block_count, sizeof *s->blocks, &failed);
    d->s.threads = copied(s->threads, s->thread_count, sizeof *s->threads, &failed);
    d->s.faults = copied(s->faults, s->fault_count, sizeof *s->faults, &failed);
    return !failed;
}

static void draft_close(struct draft *d)
{
    free(d->s.ops);
    free(d->s.blocks);
    free(d->s.threads);
    free(d->s.faults);
}

/* ---- does it still fail? ---- */

static bool same_kind(const char *a, const char *b)
{
    size_t n = strcspn(a, ":");
    return n == strcspn(b, ":") && !strncmp(a, b, n);
}

struct attempt {
    struct shrinker *k;
    const struct sim_scenario *s;
};

static void attempt(void *ctx, uint64_t place, struct sim_swarm_trial *out)
{
    const struct attempt *a = ctx;
    (void)place;
    out->scenario = a->s;
    out->options = a->k->o->trial;
    out->options.folder = NULL;
}

static bool fails(struct shrinker *k, const struct sim_scenario *s)
{
    struct attempt a = {k, s};
    struct sim_swarm_options swarm = {.count = 1, .jobs = 1, .trial = attempt, .ctx = &a};
    struct sim_swarm_outcome outcome;
    struct strobe_error error;
    k->tries++;
    if (k->o->progress)
        k->o->progress(k->o->progress_ctx, k->tries, k->o->tries);
    return sim_swarm_run(&swarm, &outcome, &error) == STROBE_OK && outcome.broken &&
           same_kind(outcome.violation, k->o->violation);
}

static struct sim_scenario *read_back(const struct shrinker *k, const char *text)
{
    struct sim_scenario *s = NULL;
    struct strobe_error error;
    return sim_scenario_parse(text, k->now->path, &s, &error) == STROBE_OK ? s : NULL;
}

/* Makes the text (may be NULL) the new best when it is a different valid scenario that fails in the same way. Otherwise
 * frees it. */
static bool keep_text_if_fails(struct shrinker *k, char *text)
{
    bool is_new = text && k->tries < k->o->tries && strcmp(text, k->best) != 0;
    struct sim_scenario *s = is_new ? read_back(k, text) : NULL;
    if (s && fails(k, s)) {
        free(k->best);
        sim_scenario_free(k->now);
        k->best = text;
        k->now = s;
        return true;
    }
    free(text);
    if (s)
        sim_scenario_free(s);
    return false;
}

/* The same for a draft, which it closes. */
static bool keep_if_fails(struct shrinker *k, struct draft *d)
{
    bool kept = keep_text_if_fails(k, sim_scenario_print(&d->s));
    draft_close(d);
    return kept;
}

static bool shrink_start_try(struct shrinker *k, struct draft *d)
{
    if (draft_open(d, k->now))
        return k->tries < k->o->tries;
    k->no_memory = true;
    return false;
}

/* ---- removable parts ---- */

/* Removes threads: all of a spec, then half of them. */
static bool fewer_threads(struct shrinker *k)
{
    bool any = false;
    for (uint32_t i = k->now->thread_count; i-- > 0;) {
        uint32_t count = k->now->threads[i].count;
        if (!count || k->now->threads[i].is_main)
            continue;
        for (uint32_t next = 0; next < count; next = next ? count : (count > 1 ? count / 2 : count)) {
            struct draft d;
            if (!shrink_start_try(k, &d))
                return any;
            d.s.threads[i].count = next;
            if (keep_if_fails(k, &d)) {
                any = true;
                break;
            }
        }
    }
    return any;
}

/* Removes operations: ranges of each block, halved down to single ones. */
static bool fewer_operations(struct shrinker *k)
{
    bool any = false;
    for (uint32_t b = k->now->block_count; b-- > 1;) {
        if (b >= k->now->block_count)
            continue;
        for (uint32_t size = k->now->blocks[b].count; size; size /= 2) {
            for (uint32_t at = 0; b < k->now->block_count && at + size <= k->now->blocks[b].count;) {
                struct draft d;
                if (!shrink_start_try(k, &d))
                    return any;
                struct sim_block *block = &d.s.blocks[b];
                struct sim_op *first = d.s.ops + block->first + at;
                memmove(first, first + size, (block->count - at - size) * sizeof *first);
                block->count -= size;
                if (keep_if_fails(k, &d))
                    any = true;
                else
                    at += size;
            }
        }
    }
    return any;
}

/* Reduces amounts: repeats to one, else to half; times to a tenth. */
static bool smaller_amounts(struct shrinker *k)
{
    bool any = false;
    for (uint32_t i = k->now->op_count; i-- > 0;) {
        if (i >= k->now->op_count)
            continue;
        struct sim_op op = k->now->ops[i];
        bool counts = op.kind == SIM_OP_REPEAT || op.kind == SIM_OP_RECURSE;
        uint64_t amount = (uint64_t)sim_dist_mean(&op.amount), next = counts ? 1 : amount / 10;
        while (next && next < amount) {
            struct draft d;
            if (!shrink_start_try(k, &d))
                return any;
            d.s.ops[i].amount = sim_dist_constant(next);
            if (keep_if_fails(k, &d)) {
                any = true;
                break;
            }
            next = counts && next < amount / 2 ? amount / 2 : 0;
        }
    }
    return any;
}

static bool shorter_run(struct shrinker *k)
{
    struct draft d;
    if (k->now->duration_ns < 2000000 || !shrink_start_try(k, &d))
        return false;
    d.s.duration_ns /= 2;
    return keep_if_fails(k, &d);
}

static bool fewer_faults(struct shrinker *k)
{
    bool any = false;
    for (uint32_t i = k->now->fault_count; i-- > 0;) {
        struct draft d;
        if (!shrink_start_try(k, &d))
            return any;
        d.s.faults[i] = d.s.faults[--d.s.fault_count];
        any |= keep_if_fails(k, &d);
    }
    return any;
}

/* ---- declarations: a line each, in the text; those that span several have been emptied before ---- */

static bool begins_with(const char *line, const char *word)
{
    size_t n = strlen(word);
    return !strncmp(line, word, n) && line[n] == ' ';
}

static bool is_declaration(const char *line, size_t bytes)
{
    bool opens = memchr(line, '{', bytes) != NULL, closes = memchr(line, '}', bytes) != NULL;
    return line[0] >= 'a' && line[0] <= 'z' && opens == closes && !begins_with(line, "scenario") &&
           !begins_with(line, "duration");
}

/* True for a declaration without an effect of its own. It can be removed unless something refers to it. */
static bool is_passive_declaration(const char *line, size_t bytes)
{
    static const char *const words[] = {"image", "method", "mutex", "monitor", "rwlock", "cond", "semaphore", "queue"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (begins_with(line, words[i]))
            return true;
    return begins_with(line, "thread") && memmem(line, bytes, " x0 ", 4);
}

static char *text_without_line(const char *text, const char *line, size_t bytes)
{
    size_t before = (size_t)(line - text), after = strlen(line + bytes) + 1;
    char *out = malloc(before + after);
    if (!out)
        return NULL;
    memcpy(out, text, before);
    memcpy(out + before, line + bytes, after);
    return out;
}

/* Returns the line before `line`; NULL before the first. */
static const char *line_before(const char *text, const char *line)
{
    if (line == text)
        return NULL;
    for (line--; line > text && line[-1] != '\n';)
        line--;
    return line;
}

static size_t bytes_of_line(const char *line)
{
    size_t n = strcspn(line, "\n");
    return n + (line[n] == '\n');
}

/* Walks a text backwards: returns the line before offset *at, and sets *at to its begin. NULL: none. */
static const char *next_line_up(const char *text, size_t *at)
{
    const char *line = line_before(text, text + *at);
    if (line)
        *at = (size_t)(line - text);
    return line;
}

/* Removes from the text all declarations without a reference. True when there were any. It walks backwards, because
 * methods that refer to others stand at the end. `spare` has the same capacity. */
static bool drop_unnamed(const struct shrinker *k, char *text, char *spare)
{
    bool any = false;
    const char *line;
    for (size_t at = strlen(text); (line = next_line_up(text, &at));) {
        size_t bytes = bytes_of_line(line);
        if (!is_declaration(line, bytes) || !is_passive_declaration(line, bytes))
            continue;
        memcpy(spare, text, at);
        strcpy(spare + at, line + bytes);
        struct sim_scenario *s = read_back(k, spare);
        if (!s)
            continue;
        sim_scenario_free(s);
        strcpy(text, spare);
        any = true;
    }
    return any;
}

static char *without_unnamed(const struct shrinker *k)
{
    char *text = strdup(k->best), *spare = strdup(k->best);
    while (text && spare && drop_unnamed(k, text, spare))
        ;
    free(spare);
    return text;
}

static bool fewer_declarations(struct shrinker *k)
{
    bool any = keep_text_if_fails(k, without_unnamed(k));
    const char *line;
    for (size_t at = strlen(k->best); k->tries < k->o->tries && (line = next_line_up(k->best, &at));) {
        size_t bytes = bytes_of_line(line);
        if (is_declaration(line, bytes))
            any |= keep_text_if_fails(k, text_without_line(k->best, line, bytes));
    }
    return any;
}

enum strobe_status sim_shrink(const struct sim_scenario *scenario, const struct sim_shrink_options *o, char **text,
                              uint32_t *tries)
{
    struct strobe_error error;
    struct shrinker k = {.o = o, .best = sim_scenario_print(scenario)};
    enum strobe_status status = k.best ? sim_scenario_parse(k.best, scenario->path, &k.now, &error) : STROBE_IO;
    if (status != STROBE_OK) {
        free(k.best);
        return status;
    }
    bool smaller = true;
    while (smaller && k.tries < o->tries && !k.no_memory) {
        smaller = shorter_run(&k);
        smaller |= fewer_threads(&k);
        smaller |= fewer_operations(&k);
        smaller |= fewer_faults(&k);
        smaller |= fewer_declarations(&k);
        smaller |= smaller_amounts(&k);
    }
    sim_scenario_free(k.now);
    *text = k.best;
    *tries = k.tries;
    return k.no_memory ? STROBE_IO : STROBE_OK;
}
