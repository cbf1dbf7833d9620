#include "engine/capture/sampler.h"

#include "engine/base/mix.h"
#include "engine/capture/guard.h"
#include "engine/capture/sampler_record.h"
#include "engine/capture/sampler_visit.h"

/* ---- when ---- */

uint64_t strobe_sampler_draw(struct strobe_sampler *s, uint64_t limit)
{
    s->random += 0x9e3779b97f4a7c15u;
    return limit ? strobe_mix64(s->random) % limit : 0;
}

/* Changes the offset at random, reflected at the ends. In the long run all offsets are equally frequent. */
static void change_offset(struct strobe_sampler *s)
{
    int64_t interval = (int64_t)s->interval_ticks, step = interval / 8;
    int64_t offset = (int64_t)s->offset_ticks + (int64_t)strobe_sampler_draw(s, (uint64_t)(2 * step + 1)) - step;
    if (offset < 0)
        offset = -offset;
    if (offset > interval)
        offset = 2 * interval - offset;
    s->offset_ticks = (uint64_t)offset;
}

uint64_t strobe_sampler_deadline(const struct strobe_sampler *s)
{
    return s->grid_ticks + s->offset_ticks;
}

/* A pass wakes the sampler and takes a processor from a computing thread: 3 % of a processor at one pass in each ms.
 * Threads with ticking clocks are sampled without passes. */
enum { QUIET_PASSES = 8, REST_INTERVALS = 4, REST_INTERVALS_RUNG = 2, REST_NS = 4000000 };

static uint64_t intervals_to_next_pass(const struct strobe_sampler *s)
{
    const struct strobe_engine *e = s->engine;
    uint64_t fit = e->config.async_interval_ns ? REST_NS / e->config.async_interval_ns : 0;
    uint64_t most = s->passes_unrung < QUIET_PASSES ? REST_INTERVALS_RUNG : REST_INTERVALS;
    uint64_t rest = fit < most ? fit : most;
    return s->quiet_passes < QUIET_PASSES || !rest ? 1 : rest;
}

/* New threads that come after this point are polled in the next pass. */
static void begin_pass(struct strobe_sampler *s, uint64_t now)
{
    s->pass_ticks = now;
    s->needed = strobe_exchange_acq_rel(&s->engine->sampler_rest, STROBE_SAMPLER_IDLE) == STROBE_SAMPLER_NEWCOMER;
    s->rang = false;
}

/* A needed pass keeps the distance to the next pass short. */
static void end_pass(struct strobe_sampler *s)
{
    s->quiet_passes = s->needed || !s->engine->host->clock_keep ? 0 : s->quiet_passes + 1;
    s->passes_unrung = s->rang ? 0 : s->passes_unrung + 1;
}

/* Returns false when a thread has come since the last pass began. */
static bool begin_rest(const struct strobe_sampler *s)
{
    uint32_t idle = STROBE_SAMPLER_IDLE;
    return strobe_cas_acq_rel(&s->engine->sampler_rest, &idle, STROBE_SAMPLER_RESTS);
}

void strobe_sampler_go_on(struct strobe_sampler *s, uint64_t now)
{
    uint64_t intervals = intervals_to_next_pass(s);
    s->rests = intervals > 1 && begin_rest(s);
    s->grid_ticks += s->interval_ticks * (s->rests ? intervals : 1);
    change_offset(s);
    uint64_t deadline = strobe_sampler_deadline(s);
    if (s->interval_ticks && deadline <= now)
        s->grid_ticks += (now - deadline) / s->interval_ticks * s->interval_ticks + s->interval_ticks;
}

uint64_t strobe_sampler_sleep(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    const struct strobe_host *h = e->host;
    uint64_t deadline = strobe_sampler_deadline(s);
    if (s->rests) {
        h->rest_until(h->ctx, deadline, &e->sampler_rest, STROBE_SAMPLER_RESTS);
        uint64_t now = h->ticks(h->ctx);
        if (strobe_load_acquire(&e->sampler_rest) != STROBE_SAMPLER_NEWCOMER || now >= deadline)
            return deadline;
        s->grid_ticks -= (deadline - now) / s->interval_ticks * s->interval_ticks;
        deadline = strobe_sampler_deadline(s);
    }
    h->sleep_until(h->ctx, deadline);
    return deadline;
}

void strobe_sampler_init(struct strobe_sampler *s, struct strobe_engine *e, uint32_t tid)
{
    uint64_t now = e->host->ticks(e->host->ctx);
    s->engine = e;
    s->resume_ticks = e->config.delay_ns ? now + strobe_ticks_of_ns(e->host, e->config.delay_ns) : UINT64_MAX;
    s->interval_ticks = strobe_ticks_of_ns(e->host, e->config.async_interval_ns);
    s->random = e->config.seed ? e->config.seed : now ^ (uint64_t)tid << 32;
    s->grid_ticks = now;
    s->offset_ticks = strobe_sampler_draw(s, s->interval_ticks);
    strobe_ring_writer_init(&e->session.ring, &s->writer, tid);
}

void strobe_sampler_finish(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    uint32_t count = strobe_session_thread_count(&e->session);
    uint64_t now = e->host->ticks(e->host->ctx);
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_thread *t = &e->threads[i];
        if (!strobe_load_acquire(&t->ready) || !strobe_thread_is_alive(t))
            continue;
        strobe_sampler_take_waiting(s, t, now, 0);
        strobe_sampler_record_final_cpu(s, t);
    }
}

/* ---- passes ---- */

/* A pass polls live threads only, not all threads that ever existed. A program may start thousands of threads that end
 * at once, and polling one of them costs cache misses. */
static void meet_new_threads(struct strobe_sampler *s)
{
    const struct strobe_engine *e = s->engine;
    uint32_t count = strobe_session_thread_count(&e->session);
    while (s->met < count)
        e->living[s->living++] = s->met++;
}

/* Removes the ended thread at this place. The pass goes on with the thread that takes its place. */
static void drop_ended_thread(struct strobe_sampler *s, uint32_t place)
{
    uint32_t *living = s->engine->living;
    for (uint32_t i = place + 1; i < s->living; i++)
        living[i - 1] = living[i];
    s->living--;
    s->next_thread = place;
}

void strobe_sampler_pass(struct strobe_sampler *s, uint64_t now_ticks)
{
    struct strobe_engine *e = s->engine;
    begin_pass(s, now_ticks);
    meet_new_threads(s);
    uint32_t count = s->living;
    uint32_t budget = count < STROBE_SAMPLER_PASS_THREADS ? count : STROBE_SAMPLER_PASS_THREADS;
    for (uint32_t looked = 0; looked < count && budget; looked++) {
        uint32_t place = s->next_thread < s->living ? s->next_thread : 0;
        s->next_thread = place + 1;
        struct strobe_thread *t = &e->threads[e->living[place]];
        if (!strobe_load_acquire(&t->ready))
            continue;
        if (!strobe_thread_is_alive(t)) {
            strobe_sampler_end_ticking(s, t);
            drop_ended_thread(s, place);
            continue;
        }
        budget--;
        size_t taken;
        s->cpu_read_of = NULL;
        strobe_sampler_keep_ticking(s, t);
        strobe_sampler_take_waiting(s, t, now_ticks, strobe_sampler_refresh_ns(e, t));
        if (strobe_sampler_left_to_ticks(s, t, now_ticks))
            continue;
        bool due = strobe_sampler_is_visit_due(s, t, now_ticks);
        if (s->stands)
            strobe_sampler_record_standing(s, t, now_ticks);
        if (s->call)
            strobe_sampler_record_wait_call(s, t);
        if (!due || strobe_load_relaxed(&e->sampler_stop))
            continue;
        uint64_t at = e->host->ticks(e->host->ctx);
        if (strobe_thread_is_in_call(t))
            strobe_sampler_request_own_sample(e, t, at);
        else if (strobe_sampler_suspend_and_copy(s, t, &at, &taken))
            strobe_sampler_take_stopped(s, t, at, taken);
    }
    end_pass(s);
}

static void end_delay(struct strobe_sampler *s, uint64_t now)
{
    uint32_t paused = STROBE_PAUSED;
    if (now < s->resume_ticks)
        return;
    s->resume_ticks = UINT64_MAX; /* a later pause is the program's own */
    strobe_cas_relaxed(strobe_switch, &paused, STROBE_ON);
}

/* When the switch is off, the writer belongs to the thread that calls strobe_sampler_finish. */
static void close_writer(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    strobe_store_seq_cst(&e->sampler_busy, 1);
    if (strobe_load_seq_cst(strobe_switch) != STROBE_OFF)
        strobe_ring_writer_close(&e->session.ring, &s->writer);
    strobe_store_release(&e->sampler_busy, 0);
}

void strobe_sampler_run(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    struct strobe_session_header *head = e->session.header;
    strobe_guard_leave(); /* gets memory for thread-local words now, not in the window */
    while (!strobe_load_relaxed(&e->sampler_stop)) {
        uint64_t deadline = strobe_sampler_sleep(s);
        uint64_t now = e->host->ticks(e->host->ctx);
        uint64_t late = now > deadline ? now - deadline : 0;
        strobe_bump(&head->async_passes, 1);
        strobe_bump(&head->async_lag_ticks, late);
        if (late >= s->interval_ticks)
            strobe_bump(&head->async_late_passes, 1);
        end_delay(s, now);
        strobe_store_seq_cst(&e->sampler_busy, 1);
        if (strobe_load_seq_cst(strobe_switch) == STROBE_ON)
            strobe_sampler_pass(s, now);
        if (e->host->between_passes && strobe_switched() == STROBE_ON)
            e->host->between_passes(e->host->ctx);
        strobe_store_release(&e->sampler_busy, 0);
        strobe_sampler_go_on(s, e->host->ticks(e->host->ctx));
    }
    close_writer(s);
}
