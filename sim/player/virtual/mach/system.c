/* Threads of the fake Mach over fibers. A suspend stops a thread outside the kernel at once. A thread in the kernel
 * runs until it leaves the kernel and then waits for the resume. */
#include "sim/fake/mach/system.h"
#include "sim/kernel/fiber.h"
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/mach/mach.h"
#include "sim/player/virtual/posix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
    struct sim_posix_thread *thread;
    uint32_t depth; /* nesting of calls into the kernel */
    bool requested; /* a suspend is requested */
    bool stopped;   /* the thread is stopped, at once or at the end of its call into the kernel */
    bool waits;     /* the thread waits in the kernel */
    struct fake_mach_place from;
    struct sim_sem resumed; /* posted by a resume; `giver`: the thread that holds this one suspended */
};

static struct record **records; /* by serial */
static uint32_t room;
static struct sim_mutex state = {.name = "the Mach kernel's state"};

static struct record *record_of(const struct sim_thread *t)
{
    if (t->serial >= room) {
        uint32_t more = (t->serial + 64) * 2;
        struct record **bigger = realloc(records, more * sizeof *bigger);
        if (!bigger)
            abort();
        memset(bigger + room, 0, (more - room) * sizeof *bigger);
        records = bigger;
        room = more;
    }
    if (!records[t->serial] && !(records[t->serial] = calloc(1, sizeof *records[0])))
        abort();
    return records[t->serial];
}

static uint64_t id_of(const struct sim_thread *t)
{
    return (uint64_t)t->serial + 1;
}

/* Returns a live thread, or NULL. The list keeps ended threads and appends new ones, so each call registers the threads
 * that were added since the last one. */
static struct sim_posix_thread *find_live_thread(uint64_t id)
{
    static struct sim_posix_thread *last;
    struct sim_posix_thread *t = last ? last->next : sim_posix_threads();
    for (; t; last = t, t = t->next)
        record_of(t->thread)->thread = t;
    t = id - 1 < room && records[id - 1] ? records[id - 1]->thread : NULL;
    return t && t->thread->state != SIM_ENDED ? t : NULL;
}

static uint64_t system_self(void)
{
    return id_of(sim_self());
}

static uint64_t system_id_of_pthread(pthread_t thread)
{
    const struct sim_posix_thread *t = (const struct sim_posix_thread *)(uintptr_t)thread;
    return t->thread->state == SIM_ENDED ? 0 : id_of(t->thread);
}

static pthread_t system_pthread_of_id(uint64_t id)
{
    return (pthread_t)(uintptr_t)find_live_thread(id);
}

static uint32_t system_list_threads(uint64_t *ids, uint32_t most)
{
    uint32_t n = 0;
    for (struct sim_posix_thread *t = sim_posix_threads(); t && n < most; t = t->next)
        if (t->thread->state != SIM_ENDED)
            ids[n++] = id_of(t->thread);
    return n;
}

static void system_forget(uint64_t id)
{
    (void)id; /* ids are not reused */
}

static enum fake_mach_where system_place_of_thread(uint64_t id)
{
    const struct sim_posix_thread *t = find_live_thread(id);
    if (!t)
        return FAKE_MACH_GONE;
    const struct record *r = record_of(t->thread);
    if (r->stopped)
        return FAKE_MACH_STANDS;
    bool waits = r->depth ? r->waits : t->thread->state == SIM_BLOCKED;
    return waits ? FAKE_MACH_WAITS : FAKE_MACH_RUNS;
}

static uint64_t system_cpu_ns(uint64_t id)
{
    const struct sim_posix_thread *t = find_live_thread(id);
    return t ? sim_cpu_ns(t->thread) : 0;
}

static void system_thread_name(uint64_t id, char out[MAXTHREADNAMESIZE])
{
    const struct sim_posix_thread *t = find_live_thread(id);
    snprintf(out, MAXTHREADNAMESIZE, "%s", t ? t->name : "");
}

static void system_set_name(const char *name)
{
    snprintf(sim_posix_self()->name, MAXTHREADNAMESIZE, "%s", name);
}

/* The engine's sampler sets its own policy. */
static void system_set_realtime(uint64_t id)
{
    if (id == system_self())
        sim_become_realtime();
}

/* ---- suspend and resume */

static void system_suspend(uint64_t id)
{
    struct sim_posix_thread *t = find_live_thread(id);
    struct record *r = t ? record_of(t->thread) : NULL;
    if (!r || r->stopped)
        return;
    r->requested = true;
    if (r->depth == 0)
        r->stopped = sim_stop(t->thread, SIM_STOP_AT_ONCE, 0) == STROBE_OK;
}

static void system_resume(uint64_t id)
{
    struct sim_posix_thread *t = find_live_thread(id);
    struct record *r = t ? record_of(t->thread) : NULL;
    if (!r || !r->requested)
        return;
    r->requested = false;
    if (!r->stopped)
        return;
    r->stopped = false;
    if (sim_continue(t->thread) != STROBE_OK)
        sim_sem_post(&r->resumed);
}

static void system_set_held(uint64_t id, uint64_t by)
{
    const struct sim_posix_thread *t = find_live_thread(id), *holder = find_live_thread(by);
    if (!t)
        return;
    struct record *r = record_of(t->thread);
    r->resumed.giver = holder ? holder->thread : NULL;
    r->resumed.name = "a resume";
    sim_held_by(t->thread, r->resumed.giver);
}

static void system_settle(uint64_t id, bool out)
{
    for (;;) {
        const struct sim_posix_thread *t = find_live_thread(id);
        const struct record *r = t ? record_of(t->thread) : NULL;
        if (!r || !r->requested || r->stopped || t->thread == sim_self() || !out || r->waits)
            return;
        sim_posix_yield();
    }
}

static bool system_registers(uint64_t id, fake_mach_registers *out)
{
    const struct sim_posix_thread *t = find_live_thread(id);
    struct sim_fiber_place place;
    if (!t)
        return false;
    const struct record *r = record_of(t->thread);
    if (r->depth)
        place = (struct sim_fiber_place){r->from.pc, r->from.sp, r->from.fp};
    else if (!r->stopped || !sim_place(t->thread, &place))
        return false;
#if defined(__aarch64__)
    *out = (fake_mach_registers){.__pc = place.pc, .__lr = place.pc, .__sp = place.sp, .__fp = place.fp};
#else
    *out = (fake_mach_registers){.__rip = place.pc, .__rsp = place.sp, .__rbp = place.fp};
#endif
    return true;
}

/* ---- in and out of the kernel */

static void system_enter(const struct fake_mach_place *from)
{
    struct record *r = record_of(sim_self());
    if (r->depth++ == 0)
        r->from = *from;
}

static void system_set_waiting(bool on)
{
    record_of(sim_self())->waits = on;
}

/* A thread that is stopped here is still in the kernel: system_registers returns the registers of its entry. */
static void system_leave(void)
{
    struct record *r = record_of(sim_self());
    while (r->depth == 1 && r->requested) {
        r->stopped = true;
        sim_sem_wait(&r->resumed, UINT64_MAX);
    }
    r->depth--;
}

static void system_sleep_until(uint64_t at)
{
    if (at > sim_posix_now_ns())
        sim_sleep_until(at - SIM_POSIX_ORIGIN_NS);
}

/* ---- words that threads sleep on */

/* Waiters of a word. An entry without sleepers is reused for another word. */
struct sleep_word {
    struct sleep_word *next;
    const void *word;
    uint32_t sleepers;
    struct sim_cond cond;
};
static struct sleep_word *sleep_words;
static struct sim_mutex sleep_mutex = {.name = "words that threads sleep on"};

static struct sleep_word *find_sleep_word(const void *word)
{
    struct sleep_word *b = sleep_words, *empty = NULL;
    for (; b && b->word != word; b = b->next)
        empty = b->sleepers ? empty : b;
    return b ? b : empty;
}

static bool system_sleep_on(_Atomic uint32_t *word, uint32_t seen, uint64_t at)
{
    sim_mutex_lock(&sleep_mutex);
    struct sleep_word *b = find_sleep_word(word);
    if (!b) {
        b = calloc(1, sizeof *b);
        if (!b)
            abort();
        b->next = sleep_words;
        sleep_words = b;
    }
    b->word = word;
    uint64_t now = sim_posix_now_ns();
    b->sleepers++;
    if (atomic_load(word) == seen && now < at)
        sim_cond_wait(&b->cond, &sleep_mutex, at == UINT64_MAX ? UINT64_MAX : at - now);
    b->sleepers--;
    sim_mutex_unlock(&sleep_mutex);
    return at == UINT64_MAX || sim_posix_now_ns() < at;
}

static void system_wake(_Atomic uint32_t *word)
{
    sim_mutex_lock(&sleep_mutex);
    struct sleep_word *b = find_sleep_word(word);
    if (b && b->word == word && b->sleepers)
        sim_cond_notify_all(&b->cond);
    sim_mutex_unlock(&sleep_mutex);
    sim_leave_kernel();
}

static void system_lock(void)
{
    sim_mutex_lock(&state);
}

static void system_unlock(void)
{
    sim_mutex_unlock(&state);
}

const struct fake_mach_system sim_virtual_mach = {
    .self = system_self,
    .of_pthread = system_id_of_pthread,
    .pthread_of = system_pthread_of_id,
    .threads = system_list_threads,
    .forget = system_forget,
    .where = system_place_of_thread,
    .cpu_ns = system_cpu_ns,
    .process_cpu_ns = sim_posix_cpu_ns,
    .name = system_thread_name,
    .set_name = system_set_name,
    .set_realtime = system_set_realtime,
    .stop = system_suspend,
    .go = system_resume,
    .held = system_set_held,
    .settle = system_settle,
    .registers = system_registers,
    .enter = system_enter,
    .waits = system_set_waiting,
    .leave = system_leave,
    .now_ns = sim_posix_now_ns,
    .sleep_until_ns = system_sleep_until,
    .sleep_on = system_sleep_on,
    .wake = system_wake,
    .lock = system_lock,
    .unlock = system_unlock,
};
