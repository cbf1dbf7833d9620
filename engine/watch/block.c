#include "engine/watch/block.h"

#include "engine/util/array.h"
#include "engine/watch/context.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAIN_BLOCK = 2001, BACKGROUND_MAIN_BLOCK = 2002, LINES = 100, LINE_BYTES = 400 };
#define DAY_NS 86400000000000u

/* A kept stack, innermost frame first. */
struct stack {
    uint64_t *frames;
    const char **names;
    uint32_t count, room;
    uint32_t repeat; /* number of stacks in a row before it with the same innermost frame */
};

struct block {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    uint64_t period_ns; /* time between checks */
    bool began, running;
    uint64_t turn_ns;                /* begin of the turn */
    uint64_t check_ns;               /* time of the next check */
    uint64_t interval_ns, before_ns; /* time to the next check, and the one before it: a Fibonacci pair */
    uint64_t day_ns;                 /* begin of the day for which `found` counts */
    uint32_t found;                  /* blocks found in that day */

    struct stack *ring; /* the stacks of one period */
    size_t ring_room, kept, next;
    uint64_t sampled_ns; /* time of the latest stack */
    struct stack last;   /* stack of the last block, when has_last */
    bool has_last, failed;
    char text[LINES * LINE_BYTES];
};

/* ---- stacks */

static bool block_copy_stack(struct block *b, struct stack *to, const uint64_t *frames, const char *const *names,
                             uint32_t count)
{
    uint32_t frame_room = to->room;
    if (!strobe_array_reserve(&to->frames, &frame_room, count) || !strobe_array_reserve(&to->names, &to->room, count)) {
        b->failed = true;
        return false;
    }
    to->count = count;
    for (uint32_t i = 0; i < count; i++) {
        to->frames[i] = frames[i];
        to->names[i] = names && names[i] ? strobe_watch_keep(b->context, names[i]) : "";
    }
    return true;
}

static void keep_sample(struct block *b, const struct strobe_watch_event *e)
{
    if (!e->stack || (b->kept && e->time_ns - b->sampled_ns < STROBE_BLOCK_SAMPLE_NS))
        return;
    bool paused = e->time_ns - b->sampled_ns >= 2 * (uint64_t)STROBE_BLOCK_SAMPLE_NS;
    const struct stack *before = b->kept && !paused ? &b->ring[(b->next + b->ring_room - 1) % b->ring_room] : NULL;
    bool again = before && before->count && e->stack->count && before->frames[0] == e->stack->frames[0];
    uint32_t repeat = again ? before->repeat + 1 : 0;
    struct stack *s = &b->ring[b->next];
    if (!block_copy_stack(b, s, e->stack->frames, e->stack->names, e->stack->count))
        return;
    s->repeat = repeat;
    b->next = (b->next + 1) % b->ring_room;
    b->kept += b->kept < b->ring_room;
    b->sampled_ns = e->time_ns;
}

/* Returns the stack to blame, or NULL when no stack is kept. */
static const struct stack *point_stack(const struct block *b)
{
    const struct stack *best = NULL;
    for (size_t i = 1; i <= b->kept; i++) {
        const struct stack *s = &b->ring[(b->next + b->ring_room - i) % b->ring_room];
        if (!best || s->repeat > best->repeat)
            best = s;
    }
    return best;
}

/* Returns the number of kept stacks that contain the frame. */
static uint32_t seen_in(const struct block *b, uint64_t frame)
{
    uint32_t stacks = 0;
    for (size_t i = 0; i < b->kept; i++) {
        const struct stack *s = &b->ring[i];
        uint32_t k = 0;
        while (k < s->count && s->frames[k] != frame)
            k++;
        stacks += k < s->count;
    }
    return stacks;
}

static bool is_last(const struct block *b, const struct stack *s)
{
    return b->has_last && s->count == b->last.count && !memcmp(s->frames, b->last.frames, s->count * sizeof *s->frames);
}

/* ---- findings */

/* Writes lines of "depth,method,count,ms", outermost first. When there are too many frames, it writes the innermost
 * ones. */
static const char *write_stack(struct block *b, const struct stack *s)
{
    size_t used = 0;
    uint32_t shown = s->count < LINES ? s->count : LINES;
    b->text[0] = 0;
    for (uint32_t i = shown; i--;) {
        uint32_t stacks = seen_in(b, s->frames[i]);
        int bytes = snprintf(b->text + used, LINE_BYTES, "%" PRIu32 ",%.300s,%" PRIu32 ",%" PRIu64 "\n", shown - 1 - i,
                             s->names[i][0] ? s->names[i] : "[unknown]", stacks,
                             (uint64_t)stacks * STROBE_BLOCK_SAMPLE_NS / 1000000);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return b->text;
}

static void block_report(struct block *b, const struct stack *s)
{
    struct strobe_watch_context *c = b->context;
    struct strobe_finding f = strobe_finding(STROBE_FINDING_BLOCK, b->turn_ns, b->check_ns);
    struct strobe_unseen unseen = {""};
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES);
    strobe_unseen_add(&unseen, "blocks that no check falls in: they last less than %g ms",
                      (double)(c->options.block_ns + b->interval_ns) / 1e6);
    f.blame = f.key = s->names[0];
    f.stack = write_stack(b, s);
    f.unseen = unseen.text;
    strobe_finding_add_ms(&f, "block_ms", b->check_ns - b->turn_ns);
    strobe_finding_add(&f, "samples", (double)b->kept);
    strobe_finding_add(&f, "repeat", s->repeat);
    strobe_finding_add(&f, "dump_type", c->foreground == 0 ? BACKGROUND_MAIN_BLOCK : MAIN_BLOCK);
    strobe_watch_found(c, &f);
}

/* Makes the time to the next check longer, because the same stack was found again. */
static void block_anneal(struct block *b)
{
    uint64_t next_ns = b->interval_ns + b->before_ns;
    b->before_ns = b->interval_ns;
    b->interval_ns = next_ns > b->interval_ns ? next_ns : UINT64_MAX;
}

static void block_relax(struct block *b)
{
    b->interval_ns = b->before_ns = b->period_ns;
}

static void block_judge_stack(struct block *b)
{
    const struct stack *s = point_stack(b);
    if (!s || s->count <= 1)
        return;
    if (is_last(b, s)) {
        block_anneal(b);
        return;
    }
    block_relax(b);
    b->has_last = block_copy_stack(b, &b->last, s->frames, s->names, s->count);
    if (b->check_ns - b->day_ns >= DAY_NS) {
        b->day_ns += (b->check_ns - b->day_ns) / DAY_NS * DAY_NS;
        b->found = 0;
    }
    if (++b->found <= b->context->options.block_limit)
        block_report(b, s);
}

static void block_check_turn(struct block *b)
{
    if (b->running && b->check_ns > b->turn_ns && b->check_ns - b->turn_ns > b->context->options.block_ns) {
        block_judge_stack(b);
    } else {
        b->has_last = false;
        block_relax(b);
    }
}

/* Makes all checks before time_ns. Skips checks that must have the same result as the one before them. */
static void block_advance_to(struct block *b, uint64_t time_ns)
{
    while (b->check_ns < time_ns) {
        bool had_last = b->has_last;
        uint64_t interval_ns = b->interval_ns;
        block_check_turn(b);
        bool same = b->has_last == had_last && b->interval_ns == interval_ns;
        bool due = b->running && b->check_ns - b->turn_ns <= b->context->options.block_ns;
        uint64_t steps = same && !due ? (time_ns - 1 - b->check_ns) / b->interval_ns : 0;
        uint64_t left_ns = UINT64_MAX - b->check_ns;
        b->check_ns = steps + 1 > left_ns / b->interval_ns ? UINT64_MAX : b->check_ns + (steps + 1) * b->interval_ns;
        if (b->check_ns == UINT64_MAX)
            return;
    }
}

/* ---- events */

static void block_take_loop_event(struct block *b, const struct strobe_watch_event *e)
{
    switch (e->code) {
    case STROBE_LOOP_BEFORE_TIMERS:
        b->turn_ns = e->time_ns;
        b->running = true;
        break;
    case STROBE_LOOP_BEFORE_SOURCES:
    case STROBE_LOOP_AFTER_WAITING:
        b->turn_ns = b->running ? b->turn_ns : e->time_ns;
        b->running = true;
        break;
    case STROBE_LOOP_BEFORE_WAITING:
    case STROBE_LOOP_EXIT: b->running = false; break;
    default: break;
    }
}

static void block_take_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct block *b = (struct block *)w;
    if (!b->context->options.block_ns)
        return;
    if (!b->began) {
        b->began = true;
        b->day_ns = e->time_ns;
        b->check_ns = e->time_ns + b->period_ns;
    }
    block_advance_to(b, e->time_ns);
    if (e->what == STROBE_WATCH_LOOP)
        block_take_loop_event(b, e);
    else if (e->what == STROBE_WATCH_SAMPLE)
        keep_sample(b, e);
}

static void free_stack(struct stack *s)
{
    free(s->frames);
    free(s->names);
}

static enum strobe_status block_close(struct strobe_watcher *w)
{
    struct block *b = (struct block *)w;
    enum strobe_status status = b->failed ? STROBE_IO : STROBE_OK;
    for (size_t i = 0; i < b->ring_room; i++)
        free_stack(&b->ring[i]);
    free_stack(&b->last);
    free(b->ring);
    free(b);
    return status;
}

struct strobe_watcher *strobe_watch_block(struct strobe_watch_context *c)
{
    enum {
        MINE = 1u << STROBE_WATCH_PROCESS | 1u << STROBE_WATCH_LOOP | 1u << STROBE_WATCH_SAMPLE |
               1u << STROBE_WATCH_TICK | 1u << STROBE_WATCH_END,
        RING_MOST = 1000
    };
    struct block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->watcher = (struct strobe_watcher){block_take_event, block_close, ~(uint32_t)MINE};
    b->context = c;
    b->period_ns = c->options.block_ns > 1 ? c->options.block_ns / 2 : 1;
    b->ring_room = b->period_ns / STROBE_BLOCK_SAMPLE_NS;
    b->ring_room = b->ring_room < 1 ? 1 : b->ring_room > RING_MOST ? RING_MOST : b->ring_room;
    b->ring = calloc(b->ring_room, sizeof *b->ring);
    block_relax(b);
    if (!b->ring) {
        free(b);
        return NULL;
    }
    return &b->watcher;
}
