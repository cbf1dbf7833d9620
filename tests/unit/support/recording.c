#include "tests/unit/support/recording.h"
#include "engine/base/error.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- functions */

static struct strobe_symbol symbol_of(uint32_t id, uint64_t address)
{
    static char names[RECORDING_NAMES][12];
    char *name = names[id % RECORDING_NAMES];
    snprintf(name, sizeof names[0], "f%u", id % RECORDING_NAMES);
    const char *image = id == RECORDING_OURS ? "/usr/lib/strobe/libstrobe-preload.so" : "/usr/lib/librecording.so";
    return (struct strobe_symbol){
        .function = name, .image = image, .file = "", .function_id = id, .function_address = address & ~(uint64_t)255};
}

static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    (void)ctx;
    out[0] = symbol_of((uint32_t)(address >> 8) % (2 * RECORDING_NAMES), address);
    if (!(address & RECORDING_INLINED) || max < 2)
        return 1;
    out[1] = symbol_of(address & (RECORDING_INLINED - 1), address);
    return 2;
}

struct strobe_resolver recording_resolver(void)
{
    return (struct strobe_resolver){.resolve = resolve, .ctx = NULL};
}

/* ---- the sink */

static void *add(void *array, size_t *count, size_t *room, size_t item_bytes)
{
    if (*count == *room) {
        *room = *room ? *room * 2 : 256;
        *(void **)array = realloc(*(void **)array, *room * item_bytes);
        assert_non_null(*(void **)array);
    }
    return memset(*(char **)array + (*count)++ * item_bytes, 0, item_bytes);
}

static void start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    struct recording *t = (struct recording *)sink;
    t->tree = tree;
    t->reader = reader;
    t->begin_ns = strobe_reader_ns(reader, 0);
}

static void thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct recording *t = (struct recording *)sink;
    assert_false(t->in_thread);
    t->in_thread = 1;
    t->tid = thread->tid;
    t->index = (uint32_t)(thread - t->reader->threads);
    t->last_ns = t->last_cpu_ns = 0;
}

/* Checks that time does not decrease, and that CPU time does not grow faster. */
static void advance_time(struct recording *t, const struct strobe_moment *m)
{
    assert_true(t->in_thread);
    assert_true(m->time_ns >= t->last_ns);
    if (t->last_ns) {
        assert_true(m->cpu_ns >= t->last_cpu_ns);
        assert_true(m->cpu_ns - t->last_cpu_ns <= m->time_ns - t->last_ns);
    }
    t->last_ns = m->time_ns;
    t->last_cpu_ns = m->cpu_ns;
}

static void slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    struct recording *t = (struct recording *)sink;
    advance_time(t, &s->begin);
    assert_int_equal(s->depth, t->depth + 1);
    assert_true(s->depth <= RECORDING_DEPTH_MAX);
    const struct strobe_function_node *node = strobe_function_tree_node(t->tree, s->node);
    assert_int_equal(node->name, s->name);
    struct recorded_slice *new = add(&t->slices, &t->slice_count, &t->slice_room, sizeof *new);
    new->thread = t->threads;
    new->tid = t->tid;
    new->depth = s->depth;
    new->parent = t->depth ? t->open[t->depth - 1] + 1 : 0;
    snprintf(new->name, sizeof new->name, "%s", strobe_function_tree_name(t->tree, s->name)->text);
    new->class = s->class;
    new->unfinished = s->unfinished;
    new->arg = s->arg;
    new->begin_ns = s->begin.time_ns - t->begin_ns;
    t->open_at[t->depth] = s->begin;
    t->open[t->depth++] = (uint32_t)t->slice_count - 1;
}

static void slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    struct recording *t = (struct recording *)sink;
    advance_time(t, now);
    assert_true(t->depth > 0);
    assert_int_equal(s->depth, t->depth);
    const struct strobe_moment *begin = &t->open_at[--t->depth];
    struct recorded_slice *ended = &t->slices[t->open[t->depth]];
    assert_memory_equal(&s->begin, begin, sizeof *begin);
    assert_true(now->time_ns > begin->time_ns);
    ended->end_ns = now->time_ns - t->begin_ns;
    ended->cpu_ns = now->cpu_ns - begin->cpu_ns;
    ended->samples = s->samples;
    ended->no_wait = s->no_wait;
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++) {
        assert_true(now->counter[i] >= begin->counter[i]);
        ended->counter[i] = now->counter[i] - begin->counter[i];
    }
}

static void instant(struct strobe_sink *sink, uint64_t time_ns, const char *name, const struct strobe_note *notes,
                    size_t note_count)
{
    struct recording *t = (struct recording *)sink;
    struct recorded_instant *m = add(&t->instants, &t->instant_count, &t->instant_room, sizeof *m);
    (void)notes;
    (void)note_count;
    assert_true(t->in_thread && time_ns >= t->last_ns);
    m->thread = t->threads;
    m->at_ns = time_ns - t->begin_ns;
    snprintf(m->name, sizeof m->name, "%s", name);
}

/* The flow of a waiter comes last in its slice. The flow of a waker comes at any time. */
static void wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct recording *t = (struct recording *)sink;
    const struct recorded_slice *open = t->depth ? &t->slices[t->open[t->depth - 1]] : NULL;
    assert_true(t->in_thread && f->time_ns >= t->last_ns && f->id > 0 && f->release_ns <= f->end_ns);
    assert_int_equal(f->at_waker ? f->waker : f->waiter, t->index);
    if (!f->at_waker) {
        assert_true(open && open->class == STROBE_SLICE_WAIT);
        assert_int_equal(open->arg, f->what);
    }
    t->last_ns = f->time_ns;
    struct recorded_wake *w = add(&t->wakes, &t->wake_count, &t->wake_room, sizeof *w);
    *w = (struct recorded_wake){f->id,
                                t->threads,
                                f->waiter,
                                f->waker,
                                f->at_waker,
                                f->time_ns - t->begin_ns,
                                f->release_ns - t->begin_ns,
                                f->end_ns - t->begin_ns,
                                f->what,
                                ""};
    if (open)
        snprintf(w->in, sizeof w->in, "%s", open->name);
}

static void samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    struct recording *t = (struct recording *)sink;
    struct recorded_instant *m = add(&t->samples, &t->sample_count, &t->sample_room, sizeof *m);
    assert_true(t->in_thread && s->count >= 1 && s->last_ns >= s->first_ns);
    m->thread = t->threads;
    m->at_ns = s->first_ns - t->begin_ns;
    m->last_ns = s->last_ns - t->begin_ns;
    m->count = s->count;
    m->stack = s->stack;
    m->incomplete = s->incomplete;
}

static void thread_end(struct strobe_sink *sink)
{
    struct recording *t = (struct recording *)sink;
    assert_true(t->in_thread);
    assert_int_equal(t->depth, 0);
    t->in_thread = 0;
    t->threads++;
}

static enum strobe_status finish(struct strobe_sink *sink)
{
    struct recording *t = (struct recording *)sink;
    assert_false(t->in_thread || t->finished);
    t->finished = 1;
    return STROBE_OK;
}

/* ---- for tests */

void recording_read(struct recording *t, const char *path, const struct strobe_timeline_options *options)
{
    const struct strobe_timeline_options none = {0};
    struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    struct strobe_error error = {""};
    memset(t, 0, sizeof *t);
    t->sink = (struct strobe_sink){.start = start,
                                   .thread_begin = thread_begin,
                                   .slice_begin = slice_begin,
                                   .slice_end = slice_end,
                                   .instant = instant,
                                   .wake = wake,
                                   .samples = samples,
                                   .thread_end = thread_end,
                                   .finish = finish};
    if (strobe_reader_open(path, &reader, &error) != STROBE_OK)
        fail_msg("%s: %s", path, error.text);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks, recording_resolver(), &tree), STROBE_OK);
    assert_int_equal(strobe_timeline_build(reader, tree, options ? options : &none, &t->sink, &t->stats), STROBE_OK);
    assert_true(t->finished);
    assert_int_equal(t->stats.slices, t->slice_count);
    assert_int_equal(t->stats.instants, t->instant_count);
    assert_int_equal(t->stats.threads, t->threads);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
}

void recording_free(struct recording *t)
{
    free(t->slices);
    free(t->instants);
    free(t->samples);
    free(t->wakes);
}

const struct recorded_slice *recording_find(const struct recording *t, const char *name, size_t nth)
{
    for (size_t i = 0; i < t->slice_count; i++)
        if (strcmp(t->slices[i].name, name) == 0 && nth-- == 0)
            return &t->slices[i];
    return NULL;
}

const char *recording_text(const struct recording *t, uint32_t thread)
{
    static char text[1 << 16];
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < t->slice_count; i++) {
        const struct recorded_slice *s = &t->slices[i];
        if (s->thread != thread)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s%s[%g,%g)", used ? " " : "", s->depth - 1,
                                 "................................", s->name, (double)s->begin_ns / 1000,
                                 (double)s->end_ns / 1000);
        assert_true(used < sizeof text);
    }
    return text;
}
