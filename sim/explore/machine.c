#include "sim/explore/machine.h"

#include "sim/explore/futex.h"
#include "sim/explore/line.h"
#include "sim/explore/model.h"
#include "sim/explore/repetition.h"
#include "sim/explore/sharing.h"
#include "sim/explore/turn.h"
#include "sim/kernel/fiber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = EXPLORE_THREADS_MAX, LOOPS = 8 };

enum status { RUNS, SPINS, FROZEN, OVER };

struct thread {
    struct sim_fiber fiber;
    enum status status;
    uint32_t done; /* number of its events that took place in this execution */
    uint32_t turn; /* number of events before its current turn of a spin */
    struct {
        const void *site;
        uint32_t done;
    } loop[LOOPS]; /* number of events before the last end of a turn, by loop */
    bool had_epilogue;
    uint64_t turn_read; /* hash of what the loads of the turn before read; 0: there was no turn before */
    struct explore_repetition repetition;
    uint32_t operations;
    bool interrupted;
    bool turn_broken;    /* interrupted in its current turn of a spin, so the loads of that turn are not from one point
                            in time */
    uintptr_t stored_at; /* a plain store to an atomic variable, whose value is known only after it happened */
    uint16_t stored_place;
    struct explore_site stored_site;
};

/* What an update does to the value it finds. */
struct update {
    bool conditional;
    enum explore_update how;
    uint64_t operand, expected;
    int order, failure_order;
};

static struct {
    const struct explore_program *program;
    const struct explore_options *options;
    const struct explore_chooser *chooser;
    struct explore_graph graph;
    struct explore_at frozen, interrupted;
    bool disturbed;
    void *state;
    struct sim_fiber main;
    struct thread thread[EXPLORE_THREADS_MAX];
    uint32_t running; /* NONE: setup, check, or no execution */
    uint32_t last;
    bool epilogue; /* the threads that were left waiting now see the latest stores */
    bool granted;  /* the running thread was chosen, and has made no operation since */
    bool in_check;
    jmp_buf out_of_check;
    enum explore_end end;
    bool over; /* the execution has ended, whatever the threads want to do */
    enum explore_fault fault;
    char message[256];
    struct explore_access failed_access;
    struct explore_conflict failed_with;
    bool has_failed_access;
    uint64_t operations;
    uint32_t ran_count;
    uint16_t ran[EXPLORE_EVENTS_MAX]; /* events of this execution, in the order in which they were run */
    struct update update;             /* of the load that is being decided */
} m;

struct explore_graph *explore_machine_graph(void)
{
    return &m.graph;
}

uint64_t explore_machine_operations(void)
{
    return m.operations;
}

bool explore_machine_disturbed(void)
{
    return m.disturbed;
}

bool explore_machine_open(const struct explore_program *program, const struct explore_options *options)
{
    explore_machine_close();
    m.program = program;
    m.options = options;
    m.running = NONE;
    return explore_graph_open(&m.graph) && explore_sharing_open(program->state_bytes ? program->state_bytes : 1);
}

void explore_machine_close(void)
{
    explore_graph_close(&m.graph);
    explore_sharing_close();
    memset(&m, 0, sizeof m);
    m.running = NONE;
}

void explore_machine_disturb(const struct explore_at *frozen, const struct explore_at *interrupted)
{
    static const struct explore_at nobody;
    m.frozen = frozen ? *frozen : nobody;
    m.interrupted = interrupted ? *interrupted : nobody;
}

/* ---- scheduling */

static struct explore_event *event_at(uint32_t thread, uint32_t number)
{
    return explore_event_of(&m.graph, thread, number);
}

static bool machine_event_took_place(uint16_t event)
{
    const struct explore_event *e = &m.graph.event[event];
    return m.thread[e->thread].done > e->number;
}

/* Returns true when the thread has a next event in the graph, and that event can take place now. */
static bool can_follow(uint32_t i)
{
    const struct thread *t = &m.thread[i];
    if (t->status != RUNS || t->done >= m.graph.count[i])
        return false;
    const struct explore_event *e = event_at(i, t->done);
    return !explore_is_load(e) || e->from == EXPLORE_INITIAL || machine_event_took_place(e->from);
}

/* Returns the value of the last store to a place in the current graph. */
static uint64_t last_value(uint16_t place)
{
    uint16_t last = place < m.graph.place_count ? m.graph.place[place].last : EXPLORE_NOBODY;
    return last == EXPLORE_NOBODY ? explore_variable_of(place)->initial : m.graph.event[last].value;
}

/* Returns true when a load of the thread's turn could return another value now. */
static bool can_read_new_store(uint32_t i)
{
    const struct thread *t = &m.thread[i];
    for (uint32_t k = t->turn; k < t->done; k++) {
        const struct explore_event *e = event_at(i, k);
        if (explore_is_load(e) && last_value(e->place) != e->value)
            return true;
    }
    return false;
}

static bool can_go_on(uint32_t i)
{
    const struct thread *t = &m.thread[i];
    if (t->status == SPINS && m.epilogue && !t->had_epilogue)
        return true;
    return t->status == RUNS || (t->status == SPINS && m.chooser->resumes && can_read_new_store(i));
}

/* Returns the thread to run now, or NONE when no thread can run. Events of the graph come first. */
static uint32_t machine_choose_thread(void)
{
    uint32_t runnable = 0, followers = 0;
    if (m.over)
        return NONE;
    if (m.last != NONE && can_follow(m.last))
        return m.last;
    for (uint32_t i = 0; i < m.program->thread_count; i++) {
        if (can_follow(i))
            return i;
        followers |= (m.thread[i].status == RUNS && m.thread[i].done < m.graph.count[i]) ? 1u << i : 0;
        runnable |= can_go_on(i) ? 1u << i : 0;
    }
    if (followers || !runnable)
        return NONE;
    m.granted = true;
    return m.chooser->thread(m.chooser->ctx, runnable, m.last);
}

/* Switches to the thread that must run now, and returns when that is this thread again. */
static void give_way(void)
{
    m.granted = false;
    uint32_t self = m.running, chosen = machine_choose_thread(), next = chosen < NONE ? chosen : NONE;
    if (chosen == EXPLORE_GIVE_UP) {
        m.end = EXPLORE_LEFT;
        m.over = true;
    }
    struct sim_fiber *from = self == NONE ? &m.main : &m.thread[self].fiber;
    if (next != NONE) {
        struct thread *t = &m.thread[next];
        m.last = next;
        if (t->status == SPINS) {
            t->status = RUNS;
            t->turn = t->done;
            t->had_epilogue = m.epilogue;
            if (m.epilogue)
                t->turn_read = 0;
        }
    }
    if (next == self)
        return;
    m.running = next;
    sim_fiber_switch(from, next == NONE ? &m.main : &m.thread[next].fiber);
}

/* Ends the execution. Never returns to the thread. */
static _Noreturn void machine_leave(enum explore_end end)
{
    m.end = end;
    m.over = true;
    if (m.in_check)
        longjmp(m.out_of_check, 1);
    for (;;)
        give_way();
}

__attribute__((format(printf, 2, 3))) static _Noreturn void fail(enum explore_fault fault, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m.message, sizeof m.message, format, args);
    va_end(args);
    m.fault = fault;
    machine_leave(EXPLORE_FAILED);
}

static struct explore_clock clock_of(uint32_t thread)
{
    static const struct explore_clock nothing;
    uint32_t done = m.thread[thread].done;
    return done ? event_at(thread, done - 1)->hb : nothing;
}

static void fail_access(const struct explore_access *a, struct explore_conflict c)
{
    m.failed_access = *a;
    m.failed_with = c;
    m.has_failed_access = true;
    if (c.fault == EXPLORE_WILD)
        fail(c.fault, "thread %u frees what is not allocated", a->thread);
    if (c.fault == EXPLORE_RECLAIMED)
        fail(c.fault, "thread %u accesses memory that thread %u freed or frees", a->thread, c.thread);
    fail(c.fault, "%s%s of thread %u, and %s of thread %u that does not happen before it", a->atomic ? "atomic " : "",
         a->store ? "store" : "load", a->thread, c.store ? "a store" : "a load", c.thread);
}

static void check_access(uintptr_t at, uint64_t bytes, bool store, bool atomic, struct explore_site site)
{
    struct explore_clock now = clock_of(m.running);
    uint32_t done = m.thread[m.running].done;
    struct explore_access a = {.thread = m.running,
                               .step = atomic ? done - 1 : done,
                               .hb = &now,
                               .store = store,
                               .atomic = atomic,
                               .site = site};
    struct explore_conflict c = explore_sharing_access(at, bytes, &a);
    if (c.fault)
        fail_access(&a, c);
}

/* ---- operations */

static void flush_plain_store(struct thread *t);

static bool is_frozen(uint32_t i)
{
    return m.frozen.thread == i + 1 && m.thread[i].done >= m.frozen.step;
}

/* Call where an operation begins: another thread may run first, or this thread may not continue. */
static struct thread *begin_operation(void)
{
    struct thread *t = &m.thread[m.running];
    flush_plain_store(t);
    if (explore_seems_to_wait(&t->repetition))
        explore_spin();
    m.operations++;
    if (++t->operations > m.options->steps_max)
        fail(EXPLORE_ENDLESS, "thread %u goes on for ever", m.running);
    if (is_frozen(m.running)) {
        m.disturbed = true;
        t->status = FROZEN;
        for (;;)
            give_way();
    }
    if (m.interrupted.thread == m.running + 1 && t->done >= m.interrupted.step && !t->interrupted) {
        uint32_t before = t->done;
        m.disturbed = t->interrupted = true;
        m.program->interrupt(m.state);
        flush_plain_store(t);
        t->turn_broken = t->done != before;
    }
    if (!m.granted && (t->done >= m.graph.count[m.running] || !can_follow(m.running)))
        give_way();
    m.granted = false;
    return t;
}

/* Marks the thread's next event as taken place. */
static void take_place(struct thread *t)
{
    m.ran[m.ran_count++] = m.graph.index[m.running][t->done++];
}

static bool thread_follows_graph(const struct thread *t)
{
    return t->done < m.graph.count[m.running];
}

/* Returns the thread's next event in the graph, which must be the one that the thread is about to make. */
static uint16_t expect_event(const struct thread *t, bool kind_fits, uint16_t place)
{
    uint16_t i = m.graph.index[m.running][t->done];
    if (!kind_fits || (place != EXPLORE_NOBODY && m.graph.event[i].place != place))
        fail(EXPLORE_WILD, "thread %u is not deterministic: run again, it does something else", m.running);
    return i;
}

static uint16_t machine_add_event(const struct explore_event *e)
{
    if (m.graph.event_count == EXPLORE_EVENTS_MAX)
        machine_leave(EXPLORE_TOO_LARGE);
    return explore_graph_add(&m.graph, e);
}

static uint16_t machine_place_of(const volatile void *at, uint32_t bytes)
{
    uint16_t place = explore_place_at((uintptr_t)at, bytes);
    if (place == EXPLORE_NOBODY)
        fail(EXPLORE_WILD, "thread %u: too many atomic variables, or accesses of two sizes to one", m.running);
    return place;
}

static uint64_t mask_of(uint32_t bytes)
{
    return bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1;
}

/* ---- loads, and the updates based on them */

static uint64_t machine_value_of(uint16_t place, uint16_t store)
{
    return store == EXPLORE_INITIAL ? explore_variable_of(place)->initial : m.graph.event[store].value;
}

void explore_machine_read(uint16_t event, uint16_t from)
{
    struct explore_event *e = &m.graph.event[event];
    e->from = from;
    e->value = machine_value_of(e->place, from);
    if (e->locked) {
        bool stores = !m.update.conditional || e->value == m.update.expected;
        explore_graph_retype(&m.graph, event, stores ? EXPLORE_E_UPDATE_LOAD : EXPLORE_E_LOAD,
                             stores ? m.update.order : m.update.failure_order);
    }
    explore_graph_clock(&m.graph, event);
}

static const struct explore_event *machine_load(uint16_t place, uint32_t bytes, int order, bool locked,
                                                struct explore_site site)
{
    struct thread *t = &m.thread[m.running];
    uint16_t i;
    if (thread_follows_graph(t)) {
        const struct explore_event *next = event_at(m.running, t->done);
        i = expect_event(t, explore_is_load(next) && next->locked == locked, place);
        explore_machine_read(i, m.graph.event[i].from);
    } else {
        static uint16_t from[EXPLORE_EVENTS_MAX];
        struct explore_event e = {.thread = (uint8_t)m.running,
                                  .kind = locked ? EXPLORE_E_UPDATE_LOAD : EXPLORE_E_LOAD,
                                  .order = (uint8_t)order,
                                  .bytes = (uint8_t)bytes,
                                  .place = place,
                                  .site = site,
                                  .locked = locked};
        i = machine_add_event(&e);
        uint32_t count = explore_model_loads(&m.graph, m.options->memory, i, from);
        uint32_t chosen = count ? m.chooser->load(m.chooser->ctx, i, from, count) : EXPLORE_GIVE_UP;
        if (chosen == EXPLORE_GIVE_UP)
            machine_leave(EXPLORE_LEFT);
        explore_machine_read(i, from[chosen]);
    }
    take_place(t);
    explore_count_repetition(&t->repetition, &m.graph, m.running, t->done);
    check_access(explore_variable_of(place)->at, bytes, false, true, site);
    return &m.graph.event[i];
}

static void machine_store(uint16_t place, uint32_t bytes, uint64_t value, int order, bool update,
                          struct explore_site site)
{
    struct thread *t = &m.thread[m.running];
    enum explore_event_kind kind = update ? EXPLORE_E_UPDATE_STORE : EXPLORE_E_STORE;
    value &= mask_of(bytes);
    if (thread_follows_graph(t)) {
        const struct explore_event *next = event_at(m.running, t->done);
        expect_event(t, next->kind == kind && next->value == value, place);
    } else {
        static uint16_t before[EXPLORE_EVENTS_MAX];
        struct explore_event e = {.thread = (uint8_t)m.running,
                                  .kind = (uint8_t)kind,
                                  .order = (uint8_t)order,
                                  .bytes = (uint8_t)bytes,
                                  .place = place,
                                  .value = value,
                                  .site = site};
        uint16_t i = machine_add_event(&e);
        uint32_t count = explore_model_places(&m.graph, m.options->memory, i, before);
        uint32_t chosen = m.chooser->store(m.chooser->ctx, i, before, count);
        if (chosen == EXPLORE_GIVE_UP || !count)
            machine_leave(EXPLORE_LEFT);
        explore_graph_place(&m.graph, i, before[chosen]);
    }
    take_place(t);
    explore_forget_repetition(&t->repetition);
    explore_memory_write(explore_variable_of(place)->at, bytes, value);
    check_access(explore_variable_of(place)->at, bytes, true, true, site);
}

/* Records a plain store to an atomic variable (an initialisation), whose value is known now. */
static void flush_plain_store(struct thread *t)
{
    if (!t->stored_at)
        return;
    struct explore_variable *v = explore_variable_of(t->stored_place);
    t->stored_at = 0;
    machine_store(t->stored_place, v->bytes, explore_memory_read(v->at, v->bytes), memory_order_relaxed, false,
                  t->stored_site);
}

static bool is_private(const volatile void *at)
{
    return m.running == NONE || m.over || !explore_is_shared((uintptr_t)at);
}

uint64_t explore_load(const volatile void *at, uint32_t bytes, int order, struct explore_site site)
{
    if (is_private(at))
        return explore_memory_read((uintptr_t)at, bytes);
    begin_operation();
    return machine_load(machine_place_of(at, bytes), bytes, order, false, site)->value;
}

void explore_store(volatile void *at, uint32_t bytes, uint64_t value, int order, struct explore_site site)
{
    if (is_private(at)) {
        explore_memory_write((uintptr_t)at, bytes, value);
        return;
    }
    begin_operation();
    machine_store(machine_place_of(at, bytes), bytes, value, order, false, site);
}

static uint64_t machine_updated_value(uint64_t value, enum explore_update how, uint64_t operand)
{
    switch (how) {
    case EXPLORE_ADD: return value + operand;
    case EXPLORE_SUB: return value - operand;
    case EXPLORE_AND: return value & operand;
    case EXPLORE_OR: return value | operand;
    case EXPLORE_XOR: return value ^ operand;
    case EXPLORE_NAND: return ~(value & operand);
    default: return operand;
    }
}

/* Returns the value found; *stored says whether it was replaced. */
static uint64_t machine_update(volatile void *at, uint32_t bytes, struct update u, struct explore_site site,
                               bool *stored)
{
    if (is_private(at)) {
        uint64_t old = explore_memory_read((uintptr_t)at, bytes);
        *stored = !u.conditional || old == u.expected;
        if (*stored)
            explore_memory_write((uintptr_t)at, bytes, machine_updated_value(old, u.how, u.operand));
        return old;
    }
    begin_operation();
    m.update = u;
    uint16_t place = machine_place_of(at, bytes);
    const struct explore_event *e = machine_load(place, bytes, u.order, true, site);
    uint64_t old = e->value;
    *stored = e->kind == EXPLORE_E_UPDATE_LOAD;
    if (*stored)
        machine_store(place, bytes, machine_updated_value(old, u.how, u.operand), u.order, true, site);
    return old;
}

uint64_t explore_fetch(volatile void *at, uint32_t bytes, enum explore_update how, uint64_t operand, int order,
                       struct explore_site site)
{
    bool stored;
    return machine_update(at, bytes, (struct update){.how = how, .operand = operand, .order = order}, site, &stored);
}

bool explore_compare_exchange(volatile void *at, uint32_t bytes, uint64_t *expected, uint64_t desired, bool weak,
                              int order, int failure_order, struct explore_site site)
{
    bool stored;
    if (weak && m.options && m.options->spurious && !is_private(at) && explore_choose(2)) {
        uint64_t found = explore_load(at, bytes, failure_order, site);
        *expected = found;
        return false;
    }
    struct update u = {.conditional = true,
                       .how = EXPLORE_EXCHANGE,
                       .operand = desired,
                       .expected = *expected & mask_of(bytes),
                       .order = order,
                       .failure_order = failure_order};
    uint64_t found = machine_update(at, bytes, u, site, &stored);
    if (!stored)
        *expected = found;
    return stored;
}

void explore_fence(int order, struct explore_site site)
{
    if (m.running == NONE || m.over)
        return;
    struct thread *t = begin_operation();
    if (thread_follows_graph(t)) {
        expect_event(t, event_at(m.running, t->done)->kind == EXPLORE_E_FENCE, EXPLORE_NOBODY);
    } else {
        struct explore_event e = {
            .thread = (uint8_t)m.running, .kind = EXPLORE_E_FENCE, .order = (uint8_t)order, .site = site};
        explore_graph_clock(&m.graph, machine_add_event(&e));
    }
    take_place(t);
    explore_count_repetition(&t->repetition, &m.graph, m.running, t->done);
}

void explore_plain(const volatile void *at, uint64_t bytes, bool is_store, struct explore_site site)
{
    if (is_private(at))
        return;
    struct thread *t = &m.thread[m.running];
    flush_plain_store(t);
    check_access((uintptr_t)at, bytes, is_store, false, site);
    if (!is_store)
        return;
    uint16_t place = explore_place_within((uintptr_t)at, bytes);
    if (place == EXPLORE_NOBODY)
        return;
    t->stored_at = (uintptr_t)at;
    t->stored_place = place;
    t->stored_site = site;
}

/* ---- functions that programs call */

uint32_t explore_size(void)
{
    return m.options && m.options->size ? m.options->size : m.program ? m.program->quick : 0;
}

uint32_t explore_self(void)
{
    return m.running;
}

uint32_t explore_frozen(void)
{
    uint32_t set = 0;
    for (uint32_t i = 0; m.program && i < m.program->thread_count; i++)
        set |= m.thread[i].status == FROZEN ? 1u << i : 0;
    return set;
}

void explore_broken(const char *condition, const char *file, int line)
{
    fail(EXPLORE_REQUIRE, "%s:%d: %s does not hold", file, line, condition);
}

uint32_t explore_choose(uint32_t count)
{
    if (m.running == NONE)
        return 0;
    struct thread *t = begin_operation();
    uint16_t i;
    if (thread_follows_graph(t)) {
        const struct explore_event *next = event_at(m.running, t->done);
        i = expect_event(t, next->kind == EXPLORE_E_CHOICE && next->options == count, EXPLORE_NOBODY);
    } else {
        struct explore_event e = {.thread = (uint8_t)m.running, .kind = EXPLORE_E_CHOICE, .options = (uint16_t)count};
        i = machine_add_event(&e);
        explore_graph_clock(&m.graph, i);
        uint32_t chosen = m.chooser->choice(m.chooser->ctx, i, count);
        if (chosen == EXPLORE_GIVE_UP)
            machine_leave(EXPLORE_LEFT);
        m.graph.event[i].value = chosen;
    }
    take_place(t);
    return (uint32_t)m.graph.event[i].value;
}

/* Ends a turn of this loop. Returns the number of events before the turn. The turn includes what inner loops did. The
 * begin of a loop's first turn is unknown. */
static uint32_t end_turn(struct thread *t, const void *site)
{
    uint32_t i = 0;
    while (i + 1 < LOOPS && t->loop[i].site && t->loop[i].site != site)
        i++;
    uint32_t before = t->loop[i].site == site ? t->loop[i].done : 0;
    t->loop[i].site = site;
    t->loop[i].done = t->done;
    return before;
}

void explore_spin(void)
{
    if (m.running == NONE || m.over)
        return;
    struct thread *t = &m.thread[m.running];
    flush_plain_store(t);
    uint32_t before = end_turn(t, __builtin_return_address(0)), from = t->done, loads = 0;
    if (thread_follows_graph(t))
        return;
    for (; from > before && !t->turn_broken && explore_is_silent(&m.graph, m.running, from - 1); from--)
        loads += explore_is_load(event_at(m.running, from - 1));
    t->turn = from;
    t->turn_broken = false;
    if (!loads) {
        t->turn = t->done;
        t->turn_read = 0;
        return;
    }
    uint64_t read = explore_what_was_read(&m.graph, m.running, from);
    if (read == t->turn_read)
        machine_leave(EXPLORE_LEFT); /* a turn that read nothing new leads to nothing new */
    t->turn_read = read;
    t->status = SPINS;
    uint32_t self = m.running;
    do
        give_way();
    while (m.thread[self].status == SPINS);
}

void *explore_alloc(size_t bytes)
{
    if (m.running != NONE)
        flush_plain_store(&m.thread[m.running]);
    return explore_sharing_alloc(m.running, bytes);
}

void explore_free(void *block)
{
    if (m.running == NONE || m.over)
        return;
    struct thread *t = &m.thread[m.running];
    flush_plain_store(t);
    struct explore_clock now = clock_of(m.running);
    struct explore_access a = {.thread = m.running, .step = t->done, .hb = &now, .store = true};
    struct explore_conflict c = explore_sharing_free(block, &a);
    if (c.fault)
        fail_access(&a, c);
}

void explore_share(void *memory, size_t bytes)
{
    explore_sharing_add(memory, bytes);
}

void explore_local(void *memory, size_t bytes)
{
    sim_fiber_local(memory, bytes);
}

/* ---- executions */

static void thread_main(void *arg)
{
    struct thread *t = arg;
    uint32_t i = (uint32_t)(t - m.thread);
    m.program->thread[i](m.state);
    flush_plain_store(t);
    t->status = OVER;
    t->fiber.ending = true;
    for (;;)
        give_way();
}

/* Stores the final value of each place in memory, for the check. */
static void settle_memory(void)
{
    for (uint32_t p = 0; p < m.graph.place_count; p++) {
        uint16_t last = m.graph.place[p].last;
        const struct explore_variable *v = explore_variable_of((uint16_t)p);
        if (last != EXPLORE_NOBODY)
            explore_memory_write(v->at, v->bytes, m.graph.event[last].value);
    }
}

static void machine_check(void)
{
    if (!m.program->check)
        return;
    m.in_check = true;
    if (setjmp(m.out_of_check) == 0)
        m.program->check(m.state);
    m.in_check = false;
}

/* ---- waiting threads at the end: does another execution have what they wait for, or does none? */

static uint32_t machine_choose_leftmost(void *ctx, uint32_t runnable, uint32_t last)
{
    (void)ctx, (void)last;
    return (uint32_t)__builtin_ctz(runnable);
}

static uint32_t machine_choose_newest(void *ctx, uint16_t event, const uint16_t *list, uint32_t count)
{
    (void)ctx, (void)event, (void)list;
    return count ? 0 : EXPLORE_GIVE_UP;
}

static uint32_t first_choice(void *ctx, uint16_t event, uint32_t count)
{
    (void)ctx, (void)event, (void)count;
    return 0;
}

static uint32_t in_status(enum status status)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < m.program->thread_count; i++)
        set |= m.thread[i].status == status ? 1u << i : 0;
    return set;
}

/* Returns true when each waiting thread last read stores that are final. Otherwise it would read again. */
static bool may_wait_for_ever(void)
{
    for (uint32_t i = 0; i < m.program->thread_count; i++) {
        const struct thread *t = &m.thread[i];
        if (t->status != SPINS)
            continue;
        uint32_t k = t->done;
        while (k > t->turn && !explore_is_load(event_at(i, k - 1)))
            k--;
        if (k > t->turn && last_value(event_at(i, k - 1)->place) != event_at(i, k - 1)->value)
            return false;
    }
    return true;
}

/* The begin of a wait's first turn is unknown, so its loads may be old. Each waiting thread therefore makes one more
 * turn, in which loads return the latest stores. A thread that then reads nothing new waits for ever. */
static void play_epilogue(void)
{
    static const struct explore_chooser chooser = {.thread = machine_choose_leftmost,
                                                   .load = machine_choose_newest,
                                                   .store = machine_choose_newest,
                                                   .choice = first_choice,
                                                   .resumes = true};
    m.chooser = &chooser;
    m.epilogue = true;
    m.last = NONE;
    give_way();
    m.running = NONE;
}

static void fail_waiting(uint32_t waiting)
{
    m.end = EXPLORE_FAILED;
    m.fault = EXPLORE_DEADLOCK;
    snprintf(m.message, sizeof m.message, "thread %u waits for ever: no thread is left to end its wait%s",
             (uint32_t)__builtin_ctz(waiting), in_status(FROZEN) ? " but a frozen thread" : "");
}

/* Decides the end of an execution in which no thread can continue. */
static void machine_judge(void)
{
    bool resumed = m.chooser->resumes;
    if (in_status(RUNS)) {
        m.end = EXPLORE_LEFT; /* the graph contains an event that this program cannot make */
        return;
    }
    m.end = in_status(SPINS) ? EXPLORE_STUCK : EXPLORE_ENDED;
    if (m.end == EXPLORE_STUCK && !resumed && may_wait_for_ever())
        play_epilogue();
    if (m.over)
        return;
    if (in_status(SPINS) && (resumed || m.epilogue))
        fail_waiting(in_status(SPINS));
    settle_memory();
    if (m.end == EXPLORE_ENDED)
        machine_check();
}

static bool machine_start(void)
{
    m.state = explore_sharing_reset();
    explore_futex_reset();
    if (m.program->setup)
        m.program->setup(m.state);
    sim_fiber_adopt(&m.main);
    for (uint32_t i = 0; i < m.program->thread_count; i++) {
        struct thread *t = &m.thread[i];
        memset(t, 0, sizeof *t);
        if (!sim_fiber_open(&t->fiber, thread_main, t))
            return false;
    }
    return true;
}

enum explore_end explore_machine_run(const struct explore_chooser *chooser)
{
    m.chooser = chooser;
    m.over = m.disturbed = m.has_failed_access = m.epilogue = false;
    m.fault = EXPLORE_FINE;
    m.running = m.last = NONE;
    m.ran_count = 0;
    if (!machine_start())
        return EXPLORE_TOO_LARGE;
    give_way();
    m.running = NONE;
    if ((!m.over || m.end == EXPLORE_FAILED) && !explore_model_holds(&m.graph, m.options->memory))
        m.end = EXPLORE_LEFT;
    else if (!m.over)
        machine_judge();
    if (m.epilogue && !explore_model_holds(&m.graph, m.options->memory))
        m.end = EXPLORE_STUCK;
    for (uint32_t i = 0; i < m.program->thread_count; i++)
        sim_fiber_close(&m.thread[i].fiber);
    return m.end;
}

bool explore_machine_failure(struct explore_failure *out)
{
    out->fault = m.fault;
    snprintf(out->message, sizeof out->message, "%s", m.message);
    out->frozen = m.frozen;
    out->interrupted = m.interrupted;
    if (!explore_line_up(&m.graph, m.ran, m.ran_count, &out->step, &out->step_count))
        return false;
    if (m.has_failed_access && m.fault != EXPLORE_WILD) {
        out->met = m.failed_with.site.code;
        out->met_by = m.failed_with.thread;
    }
    if (!m.has_failed_access || m.failed_access.atomic)
        return true;
    struct explore_step *last = &out->step[out->step_count++];
    *last = (struct explore_step){.thread = m.failed_access.thread,
                                  .number = m.failed_access.step,
                                  .operation = m.failed_access.store ? EXPLORE_PLAIN_STORE : EXPLORE_PLAIN_LOAD,
                                  .site = m.failed_access.site.code,
                                  .text = m.failed_access.site.text,
                                  .from = UINT32_MAX,
                                  .after = UINT32_MAX,
                                  .when = m.ran_count};
    return true;
}
