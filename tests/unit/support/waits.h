/* Threads that wait and release, all played by one thread: each step names the thread that takes it. A test program
 * includes it once. */
#ifndef STROBE_UNIT_SUPPORT_WAITS_H
#define STROBE_UNIT_SUPPORT_WAITS_H

#include "engine/capture/blocking.h"
#include "tests/unit/support/capture_rig.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { US = 1000, MS = 1000000, THREADS = 16, ITEMS = 1 << 16, NOBODY = -1, NO_RECORD = -2 };
enum { LOCK = 0x7f0010, OTHER = 0x7f0020 };

static struct rig rig;
static struct strobe_thread *thread[THREADS];
static uint32_t token[THREADS][STROBE_SCOPES_MAX], depth[THREADS];
static struct strobe_ring_item items[ITEMS];

static inline void begin_with(struct strobe_config c)
{
    rig_start(&rig, &c);
    thread[0] = rig.thread;
    for (uint32_t i = 1; i < THREADS; i++) {
        struct strobe_stack_bounds bounds = {rig.thread->stack_low, rig.thread->stack_high, 0};
        thread[i] = strobe_thread_attach(&rig.engine, 2000 + i, false, "worker", &bounds);
        assert_non_null(thread[i]);
    }
    memset(depth, 0, sizeof depth);
}

static inline int start(void **state)
{
    (void)state;
    begin_with(rig_config());
    return 0;
}

static inline void assert_balanced(void)
{
    for (uint32_t i = 0; i < THREADS; i++)
        for (unsigned k = 0; k < STROBE_KIND_COUNT; k++) {
            const struct strobe_account *a = &thread[i]->entry->account[k];
            assert_int_equal(strobe_account_requests(a),
                             strobe_load_relaxed(&a->sampled) + strobe_load_relaxed(&a->gated) +
                                 strobe_load_relaxed(&a->paused) + strobe_load_relaxed(&a->reentrant) +
                                 strobe_load_relaxed(&a->unwind_failed) + strobe_load_relaxed(&a->dropped));
        }
}

/* Asserts that no thread waits and that the table has no entry of a wait. */
static inline void assert_nobody_waits(void)
{
    for (uint32_t i = 0; i < STROBE_BLOCKS; i++) {
        const struct strobe_block *b = &rig.engine.blocking->block[i];
        assert_int_equal(strobe_load_relaxed(&b->waiting), 0);
        assert_int_equal(strobe_load_relaxed(&b->beyond), 0);
        for (uint32_t k = 0; k < STROBE_BLOCK_WAITERS; k++)
            assert_int_equal(strobe_load_relaxed(&rig.engine.blocking->waiter[i][k].what), 0);
    }
}

static inline int stop(void **state)
{
    (void)state;
    assert_balanced();
    assert_nobody_waits();
    rig_stop(&rig);
    return 0;
}

/* ---- steps */

static inline struct strobe_site site_of(uint32_t t)
{
    /* Scopes nest downwards on the stack. */
    return (struct strobe_site){rig.thread->stack_low + (1 << 19) - depth[t] * 256u, 0};
}

static inline void waits(uint32_t t, uint64_t what, enum strobe_kind kind)
{
    struct strobe_site site = site_of(t);
    token[t][depth[t]++] = strobe_scope_begin(thread[t], kind, what, site);
    strobe_wait_begin(thread[t], what);
}

static inline void goes_on(uint32_t t, uint64_t what, enum strobe_wake how, bool shared)
{
    strobe_wait_end(thread[t], what, how, shared);
    depth[t]--;
    strobe_scope_end(thread[t], token[t][depth[t]], site_of(t));
}

/* The system does not report whether the wait timed out. */
static inline void goes_on_timed(uint32_t t, uint64_t what, uint64_t deadline)
{
    strobe_wait_end_timed(thread[t], what, deadline);
    depth[t]--;
    strobe_scope_end(thread[t], token[t][depth[t]], site_of(t));
}

static inline void gets(uint32_t t, uint64_t what)
{
    goes_on(t, what, STROBE_WAKE_RELEASED, false);
}

static inline void releases(uint32_t t, uint64_t what, enum strobe_release how)
{
    strobe_release(thread[t], strobe_switched(), what, how, site_of(t));
}

static inline void time_passes(uint64_t ns)
{
    rig.now += ns;
}

/* Returns the number of the waker of thread t's nth recorded wait, or NOBODY; NO_RECORD when there are fewer. */
static inline int waker(uint32_t t, uint32_t nth, struct strobe_record *record)
{
    uint32_t count = rig_records(&rig, items, ITEMS);
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_record *r = &items[i].record;
        if (r->kind != STROBE_KIND_WAKE || r->thread != thread[t]->index || nth-- > 0)
            continue;
        if (record)
            *record = *r;
        if (!r->cpu_span_ns)
            return NOBODY;
        for (int k = 0; k < THREADS; k++)
            if (thread[k]->index == r->cpu_span_ns - 1)
                return k;
    }
    return NO_RECORD;
}

/* Returns another identity of the same bucket. */
static inline uint64_t collides_with(uint64_t what)
{
    uint64_t other = what + 16;
    while (strobe_block_index(other) != strobe_block_index(what))
        other += 16;
    return other;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

#endif
