#include "engine/trace/import/matrix/matrix_stack.h"

#include "engine/trace/import/matrix/matrix_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIM_STEP_MS = 5,
    TRIM_PASSES = 60,
    LOOK_FIRST = 32, /* open calls that are searched before counting starts */
};

enum strobe_status strobe_matrix_contract_of(const char *name, enum strobe_matrix_contract *out)
{
    bool upstream = !strcmp(name, "upstream");
    if (!upstream && strcmp(name, "documented"))
        return STROBE_NO_ENTRY;
    *out = upstream ? STROBE_MATRIX_UPSTREAM : STROBE_MATRIX_DOCUMENTED;
    return STROBE_OK;
}

/* ---- building */

enum strobe_status strobe_matrix_is_open(struct strobe_matrix_builder *b, uint32_t method)
{
    if (!b->counting) {
        size_t last = b->open_count > LOOK_FIRST ? b->open_count - LOOK_FIRST : 0;
        for (size_t i = b->open_count; i-- > last;)
            if (b->open[i].method == method)
                return STROBE_OK;
        if (!last)
            return STROBE_NO_ENTRY;
        if (!b->times_open)
            b->times_open = calloc(STROBE_MATRIX_ID_MASK + 1, sizeof *b->times_open);
        if (!b->times_open)
            return STROBE_IO;
        b->counting = true;
        for (size_t i = 0; i < b->open_count; i++)
            b->times_open[b->open[i].method]++;
    }
    return b->times_open[method] ? STROBE_OK : STROBE_NO_ENTRY;
}

struct strobe_matrix_builder *strobe_matrix_builder_open(enum strobe_matrix_contract contract)
{
    struct strobe_matrix_builder *b = calloc(1, sizeof *b);
    if (b)
        b->contract = contract;
    return b;
}

void strobe_matrix_builder_close(struct strobe_matrix_builder *b)
{
    if (!b)
        return;
    strobe_matrix_tree_free(b->tree);
    strobe_matrix_list_free(b->list);
    free(b->open);
    free(b->times_open);
    free(b->items);
    free(b);
}

enum strobe_status strobe_matrix_build(struct strobe_matrix_builder *b, const uint64_t *entries, size_t count,
                                       bool strict, int64_t end_ms, struct strobe_matrix_stack *out,
                                       struct strobe_matrix_stats *stats)
{
    struct strobe_matrix_stats unasked;
    stats = stats ? stats : &unasked;
    *stats = (struct strobe_matrix_stats){0};
    *out = (struct strobe_matrix_stack){0};
    struct strobe_matrix_entries in = {.at = entries, .count = count, .strict = strict, .end_ms = end_ms};
    if (strict)
        while (in.count && (!strobe_matrix_is_enter(*in.at) || strobe_matrix_id(*in.at) != STROBE_MATRIX_DISPATCH)) {
            stats->skipped += *in.at != 0;
            in.at++;
            in.count--;
        }
    if (end_ms == STROBE_MATRIX_NO_END) {
        size_t last = in.count;
        while (last && !in.at[last - 1])
            last--;
        in.end_ms = last ? (int64_t)strobe_matrix_ms(in.at[last - 1]) : 0;
    }
    size_t items = 0;
    enum strobe_status status = b->contract == STROBE_MATRIX_UPSTREAM
                                    ? strobe_matrix_build_upstream(b, in, &items, stats)
                                    : strobe_matrix_build_documented(b, in, &items, stats);
    while (b->open_count)
        strobe_matrix_close(b);
    b->counting = false;
    if (status == STROBE_OK)
        *out = (struct strobe_matrix_stack){.items = b->items, .count = items};
    return status;
}

/* ---- trimming */

/* Removes items in one pass from the last to the first; moves the others to the end of the list. Returns the index of
 * the first of them. */
static size_t trim_below(enum strobe_matrix_contract contract, const struct strobe_matrix_stack *stack,
                         int64_t limit_ms, size_t target)
{
    struct strobe_matrix_item *items = stack->items;
    size_t kept = stack->count, left = stack->count;
    for (size_t i = stack->count; i--;) {
        bool has_callees = kept < stack->count && items[kept].depth > items[i].depth;
        bool stays = items[i].duration_ms >= limit_ms || (has_callees && contract == STROBE_MATRIX_DOCUMENTED);
        if (stays || left == target)
            items[--kept] = items[i];
        else
            left--;
    }
    return kept;
}

void strobe_matrix_trim(enum strobe_matrix_contract contract, struct strobe_matrix_stack *stack, int target)
{
    if (target < 0) {
        stack->count = 0;
        return;
    }
    for (int pass = 1; pass <= TRIM_PASSES && stack->count > (size_t)target; pass++) {
        size_t kept = trim_below(contract, stack, (int64_t)TRIM_STEP_MS * pass, (size_t)target);
        stack->count -= kept;
        memmove(stack->items, stack->items + kept, stack->count * sizeof *stack->items);
    }
    size_t fallback = contract == STROBE_MATRIX_UPSTREAM ? STROBE_MATRIX_TRIM : (size_t)target;
    if (stack->count > (size_t)target && stack->count > fallback)
        stack->count = fallback;
}

/* ---- key and text */

/* Returns the weight by which the key is selected. Upstream multiplies in 32 bits. */
static int64_t key_weight(enum strobe_matrix_contract contract, const struct strobe_matrix_item *item)
{
    if (contract == STROBE_MATRIX_UPSTREAM)
        return (int32_t)(((uint32_t)item->depth + 1) * (uint32_t)item->duration_ms);
    int64_t times = (int64_t)item->depth + 1;
    return item->duration_ms > INT64_MAX / times ? INT64_MAX : times * item->duration_ms;
}

/* Returns the least duration of a key. Upstream computes in single precision. */
static int64_t least_ms(enum strobe_matrix_contract contract, int64_t cost_ms)
{
    return contract == STROBE_MATRIX_UPSTREAM ? (int64_t)((float)cost_ms * 0.3f)
                                              : cost_ms / 10 * 3 + cost_ms % 10 * 3 / 10;
}

/* Returns true if the item may be the key instead of the message, if that has the largest weight. Upstream accepts any
 * item. */
static bool may_replace_message(enum strobe_matrix_contract contract, const struct strobe_matrix_item *item)
{
    return contract == STROBE_MATRIX_UPSTREAM || item->method != STROBE_MATRIX_DISPATCH;
}

bool strobe_matrix_key(enum strobe_matrix_contract contract, const struct strobe_matrix_stack *stack, int64_t cost_ms,
                       uint32_t *method)
{
    const struct strobe_matrix_item *first = NULL, *second = NULL; /* by weight; the earlier of equal ones */
    int64_t least = least_ms(contract, cost_ms);
    for (size_t i = 0; i < stack->count; i++) {
        const struct strobe_matrix_item *item = &stack->items[i];
        if (item->duration_ms < least)
            continue;
        if (!first || key_weight(contract, item) > key_weight(contract, first)) {
            second = first && may_replace_message(contract, first) ? first : second;
            first = item;
        } else if (may_replace_message(contract, item) &&
                   (!second || key_weight(contract, item) > key_weight(contract, second))) {
            second = item;
        }
    }
    if (!first && !stack->count)
        return false;
    if (!first)
        first = stack->items;
    else if (first->method == STROBE_MATRIX_DISPATCH && second)
        first = second;
    *method = first->method;
    return true;
}

int strobe_matrix_line(const struct strobe_matrix_item *item, const char *name, char *line, size_t bytes)
{
    if (name)
        return snprintf(line, bytes, "%" PRId32 ",%s,%" PRId32 ",%" PRId64, item->depth, name, item->count,
                        item->duration_ms);
    return snprintf(line, bytes, "%" PRId32 ",%" PRIu32 ",%" PRId32 ",%" PRId64, item->depth, item->method, item->count,
                    item->duration_ms);
}

int64_t strobe_matrix_longest(const struct strobe_matrix_stack *stack)
{
    int64_t longest = 0;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->items[i].duration_ms > longest)
            longest = stack->items[i].duration_ms;
    return longest;
}
