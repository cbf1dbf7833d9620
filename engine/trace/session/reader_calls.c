#include "engine/trace/session/reader_calls.h"
#include "engine/base/error_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A greater number of ticks means a damaged entry; no clock reaches it. */
#define TICKS_MAX (UINT64_MAX / 2)

static int by_thread_and_ticket(const void *a, const void *b)
{
    const struct strobe_reader_block *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->ticket < y->ticket ? -1 : x->ticket > y->ticket;
}

static void add_block(struct strobe_reader *r, uint32_t index, const struct strobe_call_copy *copy)
{
    struct strobe_reader_thread *t = &r->threads[copy->thread];
    r->blocks[r->block_count++] = (struct strobe_reader_block){copy->ticket, index, copy->thread, copy->count};
    t->calls.present += copy->count;
    if (copy->open)
        t->calls.recorded += copy->count;
    for (uint32_t i = 0; i < copy->count; i++) {
        uint64_t ticks = copy->entry[i].ticks;
        if (ticks >= TICKS_MAX)
            r->call_entries_damaged++;
        else if (ticks > t->last_call_ticks)
            t->last_call_ticks = ticks;
    }
}

/* Computes the numbers of recorded and overwritten entries. The accounts count the entries of finished blocks; an entry
 * that is in no block was overwritten. */
static void compute_overwritten(struct strobe_reader *r)
{
    const struct strobe_call_log *log = &r->session.calls;
    for (uint32_t i = 0; i < r->thread_count; i++) {
        struct strobe_reader_calls *c = &r->threads[i].calls;
        c->refused = strobe_load_relaxed(&log->accounts[i].refused);
        c->overwritten = (int64_t)(c->recorded + strobe_load_relaxed(&log->accounts[i].told) - c->present);
        c->recorded += strobe_load_relaxed(&log->accounts[i].told) + c->refused;
        r->calls.recorded += c->recorded;
        r->calls.present += c->present;
        r->calls.refused += c->refused;
        r->calls.overwritten += c->overwritten;
        r->calls_overwrote += strobe_load_relaxed(&log->accounts[i].overwrote);
    }
}

static void assign_blocks(struct strobe_reader *r)
{
    qsort(r->blocks, r->block_count, sizeof *r->blocks, by_thread_and_ticket);
    for (size_t i = 0; i < r->block_count; i++) {
        struct strobe_reader_thread *t = &r->threads[r->blocks[i].thread];
        if (!t->block_count++)
            t->blocks = &r->blocks[i];
    }
}

int strobe_reader_read_call_blocks(struct strobe_reader *r)
{
    const struct strobe_call_log *log = &r->session.calls;
    if (!log->head)
        return 1;
    struct strobe_call_copy *copy = malloc(sizeof *copy);
    r->blocks = malloc(log->head->block_count * sizeof *r->blocks);
    for (uint32_t i = 0; i < log->head->block_count && r->blocks && copy; i++) {
        enum strobe_call_look look = strobe_call_look(log, i, copy);
        if (look == STROBE_CALLS_THERE && copy->thread < r->thread_count)
            add_block(r, i, copy);
        else if (look == STROBE_CALLS_TAKEN)
            r->call_blocks_taken++;
        else if (look != STROBE_CALLS_EMPTY)
            r->call_blocks_damaged++;
    }
    int whole = r->blocks && copy;
    free(copy);
    if (!whole)
        return 0;
    assign_blocks(r);
    compute_overwritten(r);
    return 1;
}

/* ---- entries of a thread, in time order */

/* Sorts by time. The blocks of one writer follow each other in time, but a signal handler's block lies within its
 * thread's block. Stable: entries of equal time keep the order of their blocks. */
static int sort_by_time(struct strobe_reader_call *calls, size_t count)
{
    size_t first = 1;
    while (first < count && calls[first - 1].ticks <= calls[first].ticks)
        first++;
    if (first >= count)
        return 1;
    struct strobe_reader_call *spare = malloc(count * sizeof *spare), *from = calls, *to = spare;
    if (!spare)
        return 0;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t mid = low + width < count ? low + width : count, high = mid + width < count ? mid + width : count;
            for (size_t a = low, b = mid, out = low; out < high; out++)
                to[out] = b >= high || (a < mid && from[a].ticks <= from[b].ticks) ? from[a++] : from[b++];
        }
        struct strobe_reader_call *swap = from;
        from = to;
        to = swap;
    }
    if (from != calls)
        memcpy(calls, from, count * sizeof *calls);
    free(spare);
    return 1;
}

enum strobe_status strobe_reader_thread_calls(const struct strobe_reader *r, uint32_t thread,
                                              struct strobe_reader_call **out, size_t *count)
{
    const struct strobe_reader_thread *t = &r->threads[thread];
    struct strobe_call_copy *copy = malloc(sizeof *copy);
    struct strobe_reader_call *calls = malloc((t->calls.present ? t->calls.present : 1) * sizeof *calls);
    size_t n = 0;
    for (size_t i = 0; i < t->block_count && copy && calls; i++) {
        const struct strobe_reader_block *b = &t->blocks[i];
        if (strobe_call_look(&r->session.calls, b->index, copy) != STROBE_CALLS_THERE || copy->ticket != b->ticket)
            continue; /* the session is being written */
        uint32_t there = copy->count < b->count ? copy->count : b->count;
        for (uint32_t j = 0; j < there; j++)
            if (copy->entry[j].ticks < TICKS_MAX)
                calls[n++] = (struct strobe_reader_call){copy->entry[j].ticks, copy->entry[j].word};
    }
    int whole = copy && calls && sort_by_time(calls, n);
    free(copy);
    if (!whole) {
        free(calls);
        return STROBE_IO;
    }
    *out = calls;
    *count = n;
    return STROBE_OK;
}

/* ---- accounting */

static void set_call_error(struct strobe_error *error, const char *format, uint64_t a, uint64_t b, uint64_t c)
{
    strobe_error_set(error, format, (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
}

int strobe_reader_check_calls(const struct strobe_reader *r, uint64_t writers, struct strobe_error *error)
{
    if (r->call_blocks_damaged || r->call_entries_damaged) {
        set_call_error(error, "call log: %llu blocks and %llu entries hold what no writer writes%.0llu",
                       r->call_blocks_damaged, r->call_entries_damaged, 0);
        return 0;
    }
    int64_t deviation = r->calls.overwritten - (int64_t)r->calls_overwrote;
    int64_t tolerance = (int64_t)((r->call_blocks_taken + (r->closed ? 0 : writers)) * STROBE_CALL_ENTRIES);
    if (deviation > tolerance || deviation < -tolerance) {
        set_call_error(error, "call log: %llu entries told and not refused, but %llu present and %llu overwritten",
                       r->calls.recorded - r->calls.refused, r->calls.present, r->calls_overwrote);
        return 0;
    }
    return 1;
}
