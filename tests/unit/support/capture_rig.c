#include "tests/unit/support/capture_rig.h"

#include "engine/capture/guard.h"
#include "tests/support/temporary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the host ---- */

static uint64_t ticks(void *ctx)
{
    struct rig *r = ctx;
    r->clock_reads++;
    r->now += r->tick_cost;
    return r->now;
}

static uint64_t self_cpu_ns(void *ctx)
{
    return ((struct rig *)ctx)->cpu_ns;
}

static void self_usage(void *ctx, struct strobe_usage *out)
{
    *out = ((struct rig *)ctx)->usage;
}

static enum strobe_status thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)tid;
    struct rig *r = ctx;
    r->thread_cpu_ns += r->cpu_cost;
    if (r->clock_says == STROBE_OK)
        *out = r->thread_cpu_ns;
    return r->clock_says;
}

static enum strobe_status suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out)
{
    struct rig *r = ctx;
    (void)tid, (void)blocked, (void)timeout_ns;
    if (r->on_suspend)
        r->on_suspend(r);
    if (r->suspend_says != STROBE_OK)
        return r->suspend_says;
    r->suspends++;
    *out = r->regs;
    return STROBE_OK;
}

static void settle(void *ctx, uint32_t tid)
{
    (void)tid;
    errno = EINTR;
    ((struct rig *)ctx)->settles++;
}

static enum strobe_status resume(void *ctx, uint32_t tid)
{
    struct rig *r = ctx;
    (void)tid;
    r->resumes++;
    return r->resume_says;
}

static enum strobe_status read_memory(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    struct rig *r = ctx;
    uint64_t low = (uint64_t)(uintptr_t)r->stack, high = low + sizeof r->stack;
    r->reads++;
    *copied = 0;
    if (address < low || address >= high)
        return STROBE_UNREADABLE;
    *copied = bytes < high - address ? bytes : (size_t)(high - address);
    memcpy(out, (const void *)(uintptr_t)address, *copied);
    return STROBE_OK;
}

static void sleep_until(void *ctx, uint64_t deadline)
{
    ((struct rig *)ctx)->now = deadline;
}

/* ---- the unwinder ---- */

static struct rig *the_rig;

static enum strobe_walk_end give_frames(uint64_t *end, uint32_t max, uint32_t *count)
{
    errno = EFAULT; /* the functions that an unwinder calls may change errno */
    uint32_t n = the_rig->frame_count < max ? the_rig->frame_count : max;
    for (uint32_t i = 0; i < n; i++)
        end[-1 - (ptrdiff_t)i] = the_rig->frames[the_rig->frame_count - 1 - i];
    *count = n;
    return n < the_rig->frame_count ? STROBE_WALK_CUT : the_rig->walk_end;
}

static enum strobe_walk_end walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack, uint64_t *end,
                                      uint32_t max, uint32_t *count)
{
    (void)frame, (void)caller, (void)stack;
    return give_frames(end, max, count);
}

static enum strobe_walk_end walk_copied(const struct strobe_host *host, const struct strobe_regs *regs,
                                        const struct strobe_window *stack, uint64_t *end, uint32_t max, uint32_t *count)
{
    (void)host, (void)regs, (void)stack;
    return give_frames(end, max, count);
}

static const struct strobe_unwinder unwinder = {.self = walk_self, .copied = walk_copied};

/* ---- the rig ---- */

struct strobe_config rig_config(void)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.metrics = 0;
    c.skip_max = 0;
    c.ring_slots = 4096;
    c.ring_subs = 1;
    c.stack_nodes = 4096;
    c.threads_max = 64;
    c.depth_max = 128;
    c.images_max = 16;
    return c;
}

static strobe_a32 switch_word;

void rig_start(struct rig *r, const struct strobe_config *config)
{
    struct strobe_session session;
    char here;
    memset(r, 0, sizeof *r);
    r->host = (struct strobe_host){
        .ticks = ticks,
        .self_cpu_ns = self_cpu_ns,
        .self_usage = self_usage,
        .thread_cpu_ns = thread_cpu_ns,
        .suspend = suspend,
        .settle = settle,
        .resume = resume,
        .read = read_memory,
        .sleep_until = sleep_until,
        .ctx = r,
        .ticks_per_second = 1000000000u,
    };
    r->now = 1000000000;
    r->suspend_says = r->resume_says = STROBE_OK;
    r->regs =
        (struct strobe_regs){.pc = 0x1000, .sp = (uint64_t)(uintptr_t)r->stack, .fp = (uint64_t)(uintptr_t)r->stack};
    the_rig = r;
    temporary_path(r->path, "strobe-rig-XXXXXX");
    close(mkstemp(r->path));
    assert_int_equal(strobe_session_create(r->path, config, NULL, 1, &session), STROBE_OK);
    close(session.fd);
    strobe_session_unmap(&session);
    assert_int_equal(strobe_session_attach(r->path, (uint32_t)getpid(), &session), STROBE_OK);
    size_t bytes = strobe_engine_memory_bytes(config);
    r->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(r->memory != MAP_FAILED);
    strobe_engine_init(&r->engine, &session, &r->host, &unwinder, r->memory);
    strobe_switch = &switch_word;
    strobe_store_relaxed(strobe_switch, STROBE_ON);
    uint64_t at = (uint64_t)(uintptr_t)&here;
    r->thread = strobe_thread_attach(&r->engine, 1234, true, "main",
                                     &(struct strobe_stack_bounds){at - (1 << 20), at + (1 << 20), 0});
    assert_non_null(r->thread);
    rig_stack(r, 5, 0x5000);
}

void rig_stop(struct rig *r)
{
    strobe_store_relaxed(strobe_switch, STROBE_OFF);
    strobe_local = (struct strobe_local){0};
    munmap(r->memory, strobe_engine_memory_bytes(&r->engine.config));
    strobe_session_unmap(&r->engine.session);
    unlink(r->path);
}

void rig_stack(struct rig *r, uint32_t count, uint64_t leaf)
{
    r->frame_count = count;
    for (uint32_t i = 0; i < count; i++)
        r->frames[i] = 0x100000 + i * 16;
    if (count)
        r->frames[count - 1] = leaf;
}

static struct strobe_site here_now(void)
{
    char here;
    return (struct strobe_site){(uint64_t)(uintptr_t)&here, 0};
}

void rig_point(struct rig *r, enum strobe_kind kind)
{
    strobe_point(r->thread, strobe_switched(), kind, 0, here_now());
}

struct rig_account rig_account(const struct rig *r, enum strobe_kind kind)
{
    const struct strobe_account *a = &r->thread->entry->account[kind];
    return (struct rig_account){strobe_account_requests(a),         strobe_load_relaxed(&a->sampled),
                                strobe_load_relaxed(&a->gated),     strobe_load_relaxed(&a->paused),
                                strobe_load_relaxed(&a->reentrant), strobe_load_relaxed(&a->unwind_failed),
                                strobe_load_relaxed(&a->dropped)};
}

void rig_assert_balanced(const struct rig *r)
{
    for (unsigned k = 0; k < STROBE_KIND_COUNT; k++) {
        struct rig_account a = rig_account(r, k);
        assert_int_equal(a.requests, a.sampled + a.gated + a.paused + a.reentrant + a.unwind_failed + a.dropped);
    }
}

uint32_t rig_records(const struct rig *r, struct strobe_ring_item *out, uint32_t max)
{
    const struct strobe_ring *ring = &r->engine.session.ring;
    uint32_t n = 0;
    struct strobe_ring_item item;
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++)
        if (strobe_ring_look(ring, i, &item) == STROBE_LOOK_RECORD && n++ < max)
            out[n - 1] = item;
    return n;
}

void rig_start_sampled(struct rig *r, struct strobe_sampler *s)
{
    struct strobe_config c = rig_config();
    rig_start(r, &c);
    *s = (struct strobe_sampler){0};
    strobe_sampler_init(s, &r->engine, 99);
}

void rig_stop_sampled(struct rig *r)
{
    const struct strobe_session_header *h = r->engine.session.header;
    assert_int_equal(strobe_load_relaxed(&h->suspends), strobe_load_relaxed(&h->resumes));
    assert_int_equal(r->suspends, r->resumes);
    assert_false(strobe_guard_forbids());
    rig_assert_balanced(r);
    rig_stop(r);
}

void rig_pass(struct rig *r, struct strobe_sampler *s, uint64_t after_ns, uint64_t cpu_ns)
{
    r->now += after_ns;
    r->thread_cpu_ns += cpu_ns;
    strobe_sampler_pass(s, r->now);
}
