#include "sim/fake/art/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STACK_KEPT = 24 << 10, STACK_BYTES = 1 << 20, NAME_BYTES_OF_KERNEL = 16, STATE_IN_TOP_BYTE_SINCE = 33 };

__thread struct fake_thread *fake_thread_self;

struct fake_thread *fake_self(void)
{
    return fake_thread_self;
}

struct fake_thread *fake_current_from_gdb(void) FAKE_EXPORT("_ZN3art6Thread14CurrentFromGdbEv");
struct fake_thread *fake_current_from_gdb(void)
{
    return fake_thread_self;
}

/* ---- state. Numbers of level 30 (thread_state.h); since 33 RUNNABLE is 0, and the state is the word's top byte
 * ---- */

static const uint8_t number[] = {
    [FAKE_RUNNABLE] = 67, [FAKE_NATIVE] = 92,  [FAKE_WAITING] = 71,   [FAKE_TIMED_WAITING] = 68,
    [FAKE_SLEEPING] = 69, [FAKE_BLOCKED] = 70, [FAKE_SUSPENDED] = 93, [FAKE_WAITING_FOR_GC] = 74,
};

static uint32_t state_bits(enum fake_state s)
{
    if (fake_level < STATE_IN_TOP_BYTE_SINCE)
        return (uint32_t)number[s] << 16;
    return s == FAKE_RUNNABLE ? 0 : (uint32_t)number[s] << 24;
}

static uint32_t flags_in_word(uint32_t word)
{
    return word & (FAKE_FLAG_SUSPEND | FAKE_FLAG_CHECKPOINT);
}
static bool is_runnable(uint32_t word)
{
    return word - flags_in_word(word) == state_bits(FAKE_RUNNABLE);
}

bool fake_is_stopped(const struct fake_thread *t)
{
    return !is_runnable(atomic_load(fake_state_and_flags(t)));
}
bool fake_runnable(const struct fake_thread *self)
{
    return !fake_is_stopped(self);
}

bool fake_flag_if_runnable(struct fake_thread *t, enum fake_thread_flag flag)
{
    uint32_t w = atomic_load(fake_state_and_flags(t));
    while (is_runnable(w))
        if (atomic_compare_exchange_weak(fake_state_and_flags(t), &w, w | (uint32_t)flag))
            return true;
    return false;
}

static void run_checkpoints(struct fake_thread *self)
{
    fake_mutex_lock(&fake_list.lock);
    struct fake_checkpoint *c = fake_own(self)->checkpoints, *next;
    fake_own(self)->checkpoints = NULL;
    atomic_fetch_and(fake_state_and_flags(self), ~(uint32_t)FAKE_FLAG_CHECKPOINT);
    fake_mutex_unlock(&fake_list.lock);
    for (; c; c = next) {
        next = c->next;
        fake_closure_run(c->closure, self);
        free(c);
    }
}

void fake_to_native(struct fake_thread *self, enum fake_state state)
{
    _Atomic uint32_t *word = fake_state_and_flags(self);
    uint32_t w = atomic_load(word);
    do {
        while (flags_in_word(w) & FAKE_FLAG_CHECKPOINT) {
            run_checkpoints(self);
            w = atomic_load(word);
        }
    } while (!atomic_compare_exchange_weak(word, &w, state_bits(state) | flags_in_word(w)));
    if (flags_in_word(w) & FAKE_FLAG_SUSPEND) {
        fake_mutex_lock(&fake_list.lock);
        fake_cond_broadcast(&fake_list.stopped);
        fake_mutex_unlock(&fake_list.lock);
    }
}

void fake_to_runnable(struct fake_thread *self)
{
    _Atomic uint32_t *word = fake_state_and_flags(self);
    uint32_t w = atomic_load(word);
    do {
        while (flags_in_word(w) & FAKE_FLAG_SUSPEND) {
            fake_mutex_lock(&fake_list.lock);
            while (fake_suspend_count(self))
                fake_cond_wait(&fake_list.resumed, &fake_list.lock, UINT64_MAX);
            fake_mutex_unlock(&fake_list.lock);
            w = atomic_load(word);
        }
    } while (!atomic_compare_exchange_weak(word, &w, state_bits(FAKE_RUNNABLE) | flags_in_word(w)));
}

void fake_suspend_check(struct fake_thread *self)
{
    uint32_t w = atomic_load_explicit(fake_state_and_flags(self), memory_order_relaxed);
    if (__builtin_expect(!flags_in_word(w), 1))
        return;
    if (flags_in_word(w) & FAKE_FLAG_CHECKPOINT)
        run_checkpoints(self);
    if (flags_in_word(w) & FAKE_FLAG_SUSPEND) {
        fake_to_native(self, FAKE_SUSPENDED);
        fake_to_runnable(self);
    }
}

/* ---- data of a thread ---- */

void fake_thread_note_wait(struct fake_thread *self)
{
    fake_own(self)->waits++;
}

uint64_t fake_own_waits(void)
{
    return fake_self() ? fake_own(fake_self())->waits : 0;
}

uint32_t fake_thread_id(const struct fake_thread *t)
{
    return FAKE_AT(t, fake_layout->thread_thin_lock_id, uint32_t);
}
struct strobe_jni *fake_thread_env(struct fake_thread *t)
{
    return FAKE_AT(t, fake_layout->thread_jni_env, struct strobe_jni *);
}
struct fake_parts *fake_thread_parts(struct fake_thread *t)
{
    return &fake_own(t)->parts;
}

static struct fake_object **peer_of(struct fake_thread *t)
{
    return &FAKE_AT(t, fake_layout->thread_peer, struct fake_object *);
}

struct fake_object *fake_thread_peer(struct fake_thread *t)
{
    return *peer_of(t);
}

struct fake_object *fake_exception(struct fake_thread *self)
{
    return FAKE_AT(self, fake_layout->thread_exception, struct fake_object *);
}

void fake_set_exception(struct fake_thread *self, struct fake_object *o)
{
    FAKE_AT(self, fake_layout->thread_exception, struct fake_object *) = o;
}

size_t fake_stack_left(struct fake_thread *self)
{
    uintptr_t end = FAKE_AT(self, fake_layout->thread_stack_end, uintptr_t), here = (uintptr_t)&end;
    return here > end ? here - end : 0;
}

void fake_thread_set_name(struct fake_thread *self, const char *name)
{
    char cut[NAME_BYTES_OF_KERNEL];
    snprintf(fake_own(self)->name, FAKE_THREAD_NAME_BYTES, "%s", name);
    snprintf(cut, sizeof cut, "%.15s", name);
    fake_system_name(cut);
}

/* ---- interrupts, permits ---- */

bool fake_interrupted(struct fake_thread *self, bool clear)
{
    return clear ? atomic_exchange(&fake_own(self)->interrupted, false) : atomic_load(&fake_own(self)->interrupted);
}

void fake_interrupt(struct fake_thread *t)
{
    atomic_store(&fake_own(t)->interrupted, true);
    fake_monitor_interrupt(t);
    fake_thread_unpark(t);
}

void fake_thread_unpark(struct fake_thread *t)
{
    struct fake_own *own = fake_own(t);
    fake_mutex_lock(&own->park_lock);
    own->permit = true;
    fake_cond_signal(&own->parked);
    fake_mutex_unlock(&own->park_lock);
}

static bool take_permit(struct fake_own *own)
{
    fake_mutex_lock(&own->park_lock);
    bool had = own->permit;
    own->permit = false;
    fake_mutex_unlock(&own->park_lock);
    return had;
}

/* Returns the end of a park: `time` is nanoseconds from now, or milliseconds of the wall clock. */
static uint64_t park_deadline(bool is_absolute, int64_t time)
{
    if (!is_absolute)
        return time == 0 ? UINT64_MAX : fake_now_ns() + (uint64_t)time;
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    int64_t ns = time > INT64_MAX / 1000000 ? INT64_MAX : time * 1000000;
    int64_t wait = ns - (now.tv_sec * 1000000000 + now.tv_nsec);
    return fake_now_ns() + (wait > 0 ? (uint64_t)wait : 0);
}

void fake_thread_park(struct fake_thread *self, bool is_absolute, int64_t time)
{
    struct fake_own *own = fake_own(self);
    bool timed_out = false, was_runnable = fake_runnable(self);
    if (take_permit(own) || (!is_absolute && time < 0) || atomic_load(&own->interrupted))
        return;
    fake_notify_park_start(is_absolute, time);
    uint64_t deadline = park_deadline(is_absolute, time);
    if (was_runnable)
        fake_to_native(self, deadline == UINT64_MAX ? FAKE_WAITING : FAKE_TIMED_WAITING);
    fake_mutex_lock(&own->park_lock);
    while (!own->permit && !timed_out && !atomic_load(&own->interrupted)) {
        own->waits++;
        timed_out = !fake_cond_wait(&own->parked, &own->park_lock, deadline) && !own->permit;
    }
    own->permit = false;
    fake_mutex_unlock(&own->park_lock);
    if (was_runnable)
        fake_to_runnable(self);
    fake_notify_park_finished(timed_out);
}

/* ---- begin ---- */

static struct fake_thread *new_thread(void)
{
    struct fake_thread *t = calloc(1, fake_layout->thread_bytes + sizeof(struct fake_own));
    FAKE_CHECK(t);
    struct fake_own *own = fake_own(t);
    FAKE_AT(t, fake_layout->thread_self, struct fake_thread *) = t;
    atomic_store(fake_state_and_flags(t), state_bits(FAKE_NATIVE));
    own->node.thread = t;
    fake_mutex_init(&own->park_lock);
    fake_cond_init(&own->parked);
    return t;
}

static void free_thread(struct fake_thread *t)
{
    if (fake_thread_env(t))
        fake_jni_free(fake_thread_env(t));
    free(t);
}

bool fake_thread_init(struct fake_thread *t, struct fake_thread_list *list, struct strobe_jvm *vm,
                      struct strobe_jni *env)
{
    FAKE_CHECK(list == &fake_list && vm == fake_vm() && !fake_thread_self);
    fake_thread_self = t;
    FAKE_AT(t, fake_layout->thread_tid, uint32_t) = fake_tid();
    FAKE_AT(t, fake_layout->thread_jni_env, struct strobe_jni *) = env ? env : fake_jni_new(t);
    FAKE_AT(t, fake_layout->thread_card_table, uintptr_t) = fake_card_table_biased_begin;
    FAKE_AT(t, fake_layout->thread_stack_end, uintptr_t) = fake_stack_low() + STACK_KEPT;
    fake_parts_start(t);
    fake_list_register(t);
    return true;
}

static void set_ref(struct fake_object *o, struct fake_class *c, const char *name, const char *signature, fake_ref r)
{
    struct fake_field *f = fake_class_field(c, name, signature, false);
    if (f)
        FAKE_AT(o, fake_field_offset(f), fake_ref) = r;
}

static void set_native_peer(struct fake_object *peer, struct fake_thread *t)
{
    struct fake_field *f = fake_class_field(fake_class_of(peer), "nativePeer", "J", false);
    FAKE_CHECK(f);
    __atomic_store_n(&FAKE_AT(peer, fake_field_offset(f), int64_t), (int64_t)(uintptr_t)t, __ATOMIC_SEQ_CST);
}

static fake_ref main_group(struct fake_thread *self, bool is_main)
{
    struct fake_class *c = fake_class_find("Ljava/lang/ThreadGroup;");
    if (!c || !fake_class_initialize(self, c))
        return 0;
    const char *name = is_main ? "mainThreadGroup" : "systemThreadGroup";
    struct fake_field *f = fake_class_field(c, name, "Ljava/lang/ThreadGroup;", true);
    return f ? FAKE_AT(fake_class_mirror(c), fake_field_offset(f), fake_ref) : 0;
}

/* Makes a java.lang.Thread for a thread that Java code did not start. */
static void make_peer(struct fake_thread *self, bool is_main)
{
    struct fake_class *c = fake_class_find("Ljava/lang/Thread;"), *object = fake_class_find("Ljava/lang/Object;");
    FAKE_CHECK(c && object && fake_class_initialize(self, c));
    *peer_of(self) = fake_alloc_slow(self, c, fake_class_object_bytes(c));
    FAKE_CHECK(*peer_of(self));
    struct fake_field *daemon = fake_class_field(c, "daemon", "Z", false),
                      *priority = fake_class_field(c, "priority", "I", false);
    if (daemon)
        FAKE_AT(*peer_of(self), fake_field_offset(daemon), uint8_t) = fake_own(self)->is_daemon;
    if (priority)
        FAKE_AT(*peer_of(self), fake_field_offset(priority), int32_t) = 5;
    set_ref(*peer_of(self), c, "group", "Ljava/lang/ThreadGroup;", main_group(self, is_main));
    set_ref(*peer_of(self), c, "name", "Ljava/lang/String;", fake_ref_of(fake_string_new(self, fake_own(self)->name)));
    set_ref(*peer_of(self), c, "lock", "Ljava/lang/Object;",
            fake_ref_of(fake_alloc_slow(self, object, fake_class_object_bytes(object))));
    set_native_peer(*peer_of(self), self);
}

struct fake_thread *fake_thread_attach(const char *name, bool as_daemon, bool is_main)
{
    if (fake_thread_self)
        return fake_thread_self;
    struct fake_thread *t = new_thread();
    fake_own(t)->is_daemon = as_daemon;
    fake_thread_init(t, &fake_list, fake_vm(), NULL);
    if (name)
        fake_thread_set_name(t, name);
    else
        snprintf(fake_own(t)->name, FAKE_THREAD_NAME_BYTES, "Thread-%u", fake_thread_id(t));
    fake_to_runnable(t);
    make_peer(t, is_main);
    fake_notify_thread_start(t);
    fake_to_native(t, FAKE_NATIVE);
    return t;
}

/* ---- end ---- */

/* Threads that join this thread wait on its peer's lock. */
static void notify_joiners(struct fake_thread *self)
{
    struct fake_field *f = fake_class_field(fake_class_of(*peer_of(self)), "lock", "Ljava/lang/Object;", false);
    struct fake_object *lock = f ? fake_object(FAKE_AT(*peer_of(self), fake_field_offset(f), fake_ref)) : NULL;
    if (!lock)
        lock = *peer_of(self);
    fake_monitor_enter(self, lock);
    fake_monitor_notify(self, lock, true);
    fake_monitor_exit(self, lock);
}

static void handle_uncaught(struct fake_thread *self)
{
    struct fake_object *e = fake_exception(self);
    if (!e)
        return;
    fake_set_exception(self, NULL);
    struct fake_method *dispatch = fake_class_method(fake_class_of(*peer_of(self)), "dispatchUncaughtException",
                                                     "(Ljava/lang/Throwable;)V", false);
    union fake_value arguments[] = {{.l = fake_ref_of(*peer_of(self))}, {.l = fake_ref_of(e)}}, nothing;
    if (!dispatch)
        fprintf(stderr, "uncaught in \"%s\": %s\n", fake_own(self)->name, fake_class_descriptor(fake_class_of(e)));
    else if (!fake_invoke(self, dispatch, arguments, &nothing))
        fake_set_exception(self, NULL);
}

static void end_art_thread(struct fake_thread *self)
{
    FAKE_CHECK(!fake_own(self)->top);
    handle_uncaught(self);
    set_native_peer(*peer_of(self), NULL);
    fake_notify_thread_death(self);
    notify_joiners(self);
    fake_list_unregister(self);
    fake_thread_self = NULL;
    free_thread(self);
}

void fake_thread_detach(struct fake_thread *self)
{
    if (!fake_runnable(self))
        fake_to_runnable(self);
    end_art_thread(self);
}

/* ---- threads started by Java code ---- */

/* On the stack of the starting thread, until the new thread is on the list, where the collector finds its peer. */
struct start {
    struct fake_thread *thread;
    bool registered;
};

static void announce_thread(struct start *s)
{
    fake_mutex_lock(&fake_list.lock);
    s->registered = true;
    fake_cond_broadcast(&fake_list.changed);
    fake_mutex_unlock(&fake_list.lock);
}

static void await_start(struct start *s)
{
    fake_mutex_lock(&fake_list.lock);
    while (!s->registered)
        fake_cond_wait(&fake_list.changed, &fake_list.lock, UINT64_MAX);
    fake_mutex_unlock(&fake_list.lock);
}

static void take_name_of_peer(struct fake_thread *self)
{
    char name[FAKE_THREAD_NAME_BYTES];
    struct fake_object *peer = *peer_of(self);
    struct fake_field *f = fake_class_field(fake_class_of(peer), "name", "Ljava/lang/String;", false);
    if (!f || !FAKE_AT(peer, fake_field_offset(f), fake_ref))
        return;
    fake_string_text(fake_object(FAKE_AT(peer, fake_field_offset(f), fake_ref)), name, sizeof name);
    fake_thread_set_name(self, name);
}

static void run_art_thread(void *start)
{
    struct fake_thread *self = ((struct start *)start)->thread;
    fake_thread_init(self, &fake_list, fake_vm(), fake_thread_env(self));
    announce_thread(start);
    fake_to_runnable(self);
    take_name_of_peer(self);
    fake_notify_thread_start(self);
    struct fake_method *m = fake_class_method(fake_class_of(*peer_of(self)), "run", "()V", false);
    union fake_value this = {.l = fake_ref_of(*peer_of(self))}, nothing;
    FAKE_CHECK(m);
    fake_invoke(self, m, &this, &nothing);
    end_art_thread(self);
}

struct fake_thread *fake_thread_start(struct fake_thread *self, fake_ref peer)
{
    struct start start = {new_thread(), false};
    struct fake_thread *t = start.thread;
    struct fake_field *daemon = fake_class_field(fake_class_of(fake_object(peer)), "daemon", "Z", false);
    fake_own(t)->is_daemon = daemon && FAKE_AT(fake_object(peer), fake_field_offset(daemon), uint8_t);
    *peer_of(t) = fake_object(peer);
    FAKE_AT(t, fake_layout->thread_jni_env, struct strobe_jni *) = fake_jni_new(t);
    set_native_peer(fake_object(peer), t);
    if (!fake_system_thread(run_art_thread, &start, STACK_BYTES)) {
        set_native_peer(fake_object(peer), NULL);
        free_thread(t);
        return NULL;
    }
    fake_to_native(self, FAKE_WAITING);
    await_start(&start);
    fake_to_runnable(self);
    return t;
}
