/* Threads: registered by the introspection hook as they begin, by the first hook they meet, or on their behalf when
 * they were there before and meet none; signed off when they end.
 *
 * Of several that would register one thread one may: who claims it.
 *
 *   claim   thread id << 32 | state      state: CLAIMED, then its index in the session's table + FIRST, or REFUSED
 *
 * in a table that is searched from the id's hash on, and never emptied: thread ids are not used again. Who finds its
 * own thread CLAIMED by the sampler comes back at its next event.
 *
 *   key     capture << 32 | state        of the calling thread: what its claim says; OWN and BUSY are of any capture
 *
 * A thread signs off in the second round of the destructors of its keys, when most others have run and its thread-local
 * variables are there yet; one that was registered on its behalf, and met no hook to the end, when it terminates. */
#include "engine/backend/mach/events.h"

#include "engine/base/mix.h"

#include <string.h>

enum { CLAIMED = 1, REFUSED = 2, FIRST = 3 };

#define OWN        ((void *)1) /* key: the thread is the engine's */
#define BUSY       ((void *)2) /* key: it registers */
#define LAST_ROUND 0x80000000u /* in a key's state: it is about to end */

static pthread_key_t key;
static bool key_made, installed;
static pthread_introspection_hook_t hook_before;

/* ---- claims */

size_t strobe_mach_claims_bytes(uint32_t threads_max, uint32_t *mask)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)threads_max)
        size *= 2;
    *mask = (uint32_t)(size - 1);
    return size * sizeof(strobe_a64);
}

/* The claim of a thread, which is made when there is none: *mine then. NULL: no room is left. */
static strobe_a64 *claim(uint32_t tid, bool *mine)
{
    uint32_t mask = strobe_mach.claims_mask, at = (uint32_t)strobe_mix64(tid) & mask;
    for (uint32_t n = 0; n <= mask; n++, at = (at + 1) & mask) {
        uint64_t is = strobe_load_acquire(&strobe_mach.claims[at]);
        if (!is && strobe_cas_acq_rel(&strobe_mach.claims[at], &is, (uint64_t)tid << 32 | CLAIMED)) {
            *mine = true;
            return &strobe_mach.claims[at];
        }
        if (is >> 32 == tid) {
            *mine = false;
            return &strobe_mach.claims[at];
        }
    }
    return NULL;
}

/* NULL: there is none. */
static const strobe_a64 *claim_of(uint32_t tid)
{
    uint32_t mask = strobe_mach.claims_mask, at = (uint32_t)strobe_mix64(tid) & mask;
    for (uint32_t n = 0; n <= mask; n++, at = (at + 1) & mask) {
        uint64_t is = strobe_load_acquire(&strobe_mach.claims[at]);
        if (!is || is >> 32 == tid)
            return is ? &strobe_mach.claims[at] : NULL;
    }
    return NULL;
}

static void settle(strobe_a64 *claim, uint32_t tid, const struct strobe_thread *t)
{
    strobe_store_release(claim, (uint64_t)tid << 32 | (t ? t->index + FIRST : (uint32_t)REFUSED));
}

/* ---- the key */

static void *mark(uint32_t state)
{
    return (void *)(uintptr_t)((uint64_t)strobe_mach.capture << 32 | state);
}

void *strobe_mach_become_own(void)
{
    void *was = pthread_getspecific(key);
    pthread_setspecific(key, OWN);
    return was;
}

void strobe_mach_become(void *what_it_was)
{
    pthread_setspecific(key, what_it_was);
}

/* ---- registering */

/* 0: the system does not tell. */
static uint32_t self_tid(void)
{
    uint64_t id = 0;
    return pthread_threadid_np(0, &id) == 0 ? strobe_mach_tid(id) : 0;
}

static struct strobe_stack_bounds stack_of(pthread_t thread)
{
    uint64_t high = STROBE_MACH_OBJECT(pthread_get_stackaddr_np(thread));
    uint64_t bytes = pthread_get_stacksize_np(thread);
    if (!high || bytes > high)
        return (struct strobe_stack_bounds){0};
    return (struct strobe_stack_bounds){.low = high - bytes, .high = high};
}

static void count_untracked(void)
{
    strobe_add_relaxed(&strobe_mach.engine.session.header->events_untracked, 1);
}

static struct strobe_thread *attach(uint32_t tid)
{
    char name[MAXTHREADNAMESIZE] = "";
    struct strobe_stack_bounds stack = stack_of(pthread_self());
    pthread_getname_np(pthread_self(), name, sizeof name);
    enum strobe_status put = strobe_mach_threads_put(strobe_mach.threads, tid, mach_thread_self());
    if (put != STROBE_OK && put != STROBE_EXISTS)
        return NULL;
    return strobe_thread_attach(&strobe_mach.engine, tid, pthread_main_np() == 1, name, &stack);
}

/* The state of the calling thread's claim. */
static uint32_t registers(void)
{
    uint32_t tid = self_tid();
    bool mine;
    strobe_a64 *c = tid ? claim(tid, &mine) : NULL;
    if (!c)
        return REFUSED;
    if (mine)
        settle(c, tid, attach(tid));
    return (uint32_t)strobe_load_acquire(c);
}

static struct strobe_thread *thread_at(uint32_t state)
{
    struct strobe_thread *t = &strobe_mach.engine.threads[state - FIRST];
    return strobe_load_relaxed(&t->entry->state) == STROBE_THREAD_LIVE ? t : NULL;
}

/* Who registered it on its behalf could not always tell where its stack lies. The sampler reads that only of a thread
 * that stands, or has published a scope since. */
static void tell_stack(struct strobe_thread *t)
{
    struct strobe_stack_bounds stack = stack_of(pthread_self());
    t->stack_low = stack.low;
    strobe_fence_signal();
    t->stack_high = stack.high;
}

/* The start and the end of a capture wait for those who are about to register: who finds it off does not. */
static struct strobe_thread *register_self(void)
{
    int saved = errno;
    struct strobe_thread *t = NULL;
    pthread_setspecific(key, BUSY); /* what follows may meet hooks */
    strobe_add_acq_rel(&strobe_mach.registering, 1);
    strobe_fence_seq_cst();
    if (strobe_switched() != STROBE_OFF) {
        uint32_t state = registers();
        if (state >= FIRST)
            t = thread_at(state);
        if (t && !t->stack_high)
            tell_stack(t);
        if (!t)
            count_untracked();
        void *value = mark(t ? state : (uint32_t)REFUSED);
        strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
        pthread_setspecific(key, state == CLAIMED ? NULL : value);
    } else {
        strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
        pthread_setspecific(key, NULL);
    }
    errno = saved;
    return t;
}

static STROBE_NOINLINE struct strobe_thread *unknown(const void *value, const char *call)
{
    if (value == OWN && strobe_guard_forbids())
        strobe_mach_offender(call);
    return value == OWN || value == BUSY ? NULL : register_self();
}

struct strobe_thread *strobe_mach_thread(uint32_t on, const char *call)
{
    if (on == STROBE_OFF)
        return NULL;
    uint64_t value = STROBE_MACH_OBJECT(pthread_getspecific(key));
    uint32_t state = (uint32_t)value & ~LAST_ROUND;
    if (strobe_unlikely(value >> 32 != strobe_mach.capture))
        return unknown((const void *)(uintptr_t)value, call);
    if (strobe_unlikely(state < FIRST)) {
        count_untracked();
        return NULL;
    }
    return &strobe_mach.engine.threads[state - FIRST];
}

uint32_t strobe_mach_thread_is_own(void)
{
    uint32_t tid = self_tid();
    strobe_mach_become_own();
    if (tid)
        strobe_mach_threads_drop(strobe_mach.threads, tid);
    return tid;
}

/* ---- on behalf of others */

/* Asked of the C library, which knows its threads by their ports; it may be another's by now, or nobody's. */
static struct strobe_stack_bounds stack_behind(mach_port_t port)
{
    pthread_t thread = pthread_from_mach_thread_np(port);
    struct strobe_stack_bounds stack = thread ? stack_of(thread) : (struct strobe_stack_bounds){0};
    bool same = thread && pthread_from_mach_thread_np(port) == thread;
    return same ? stack : (struct strobe_stack_bounds){0};
}

void strobe_mach_thread_found(void *ctx, const struct strobe_mach_found *found)
{
    struct strobe_local local = strobe_local;
    bool mine;
    (void)ctx;
    strobe_a64 *c = claim(found->tid, &mine);
    if (!c || !mine)
        return;
    struct strobe_stack_bounds stack = stack_behind(found->port);
    settle(c, found->tid, strobe_thread_attach(&strobe_mach.engine, found->tid, found->is_main, found->name, &stack));
    strobe_local = local; /* the calling thread is not who was attached */
}

/* ---- ends */

/* Between strobe_mach.registering and the switch, as registering. */
static void sign_off(uint32_t state)
{
    char name[MAXTHREADNAMESIZE] = "";
    strobe_add_acq_rel(&strobe_mach.registering, 1);
    strobe_fence_seq_cst();
    struct strobe_thread *t = strobe_switched() != STROBE_OFF ? thread_at(state) : NULL;
    if (t) {
        uint32_t tid = t->entry->tid;
        strobe_point_forced(t, STROBE_KIND_THREAD, 0, STROBE_MACH_HERE);
        if (pthread_getname_np(pthread_self(), name, sizeof name) == 0)
            strobe_thread_rename(t, name); /* it may have been given since it was met */
        strobe_hand_over(t, STROBE_MACH_OBJECT(pthread_self()), STROBE_RELEASE_ALL, STROBE_MACH_HERE);
        strobe_thread_detach(t);
        strobe_mach_threads_drop(strobe_mach.threads, tid);
    }
    strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
}

static void ends(void *p)
{
    uint64_t value = STROBE_MACH_OBJECT(p);
    uint32_t state = (uint32_t)value & ~LAST_ROUND;
    if (value >> 32 != strobe_mach.capture || state < FIRST)
        return;
    if (!(value & LAST_ROUND)) {
        pthread_setspecific(key, (void *)(uintptr_t)(value | LAST_ROUND));
        return;
    }
    pthread_setspecific(key, mark(REFUSED));
    sign_off(state);
}

/* The thread has no more to run. What it was known by may be gone with its keys. */
static void terminates(void)
{
    uint32_t tid = self_tid();
    strobe_add_acq_rel(&strobe_mach.registering, 1); /* the claims stay those of one capture */
    strobe_fence_seq_cst();
    const strobe_a64 *c = tid && strobe_switched() != STROBE_OFF ? claim_of(tid) : NULL;
    uint32_t state = c ? (uint32_t)strobe_load_acquire(c) : 0;
    if (state >= FIRST && pthread_getspecific(key) != OWN)
        sign_off(state);
    strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
}

static void introspect(unsigned event, pthread_t thread, void *address, size_t bytes)
{
    uint32_t on = strobe_switched();
    if (hook_before)
        hook_before(event, thread, address, bytes);
    if (on == STROBE_OFF)
        return;
    if (event == PTHREAD_INTROSPECTION_THREAD_START) {
        struct strobe_thread *t = strobe_mach_thread(on, "pthread_create");
        if (t)
            strobe_point_forced(t, STROBE_KIND_THREAD, 1, STROBE_MACH_HERE);
    } else if (event == PTHREAD_INTROSPECTION_THREAD_TERMINATE) {
        terminates();
    }
}

/* ---- start and end */

bool strobe_mach_threads_begin(void)
{
    if (!key_made && pthread_key_create(&key, ends) != 0)
        return false;
    key_made = true;
    return true;
}

void strobe_mach_threads_enter(void)
{
    registers();
}

void strobe_mach_threads_watch(void)
{
    if (!installed)
        hook_before = pthread_introspection_hook_install(introspect);
    installed = true;
}

/* Another that has come since stays, and calls ours. */
void strobe_mach_threads_end(void)
{
    pthread_introspection_hook_t last = pthread_introspection_hook_install(hook_before);
    installed = last != introspect;
    if (installed)
        pthread_introspection_hook_install(last);
}

static void rename_by_port(struct strobe_thread *t)
{
    thread_extended_info_data_t info;
    mach_msg_type_number_t n = THREAD_EXTENDED_INFO_COUNT;
    mach_port_t port;
    if (strobe_mach_threads_use(strobe_mach.threads, t->entry->tid, &port) != STROBE_OK)
        return;
    if (thread_info(port, THREAD_EXTENDED_INFO, (thread_info_t)(void *)&info, &n) == KERN_SUCCESS) {
        info.pth_name[sizeof info.pth_name - 1] = '\0';
        strobe_thread_rename(t, info.pth_name);
    }
    strobe_mach_threads_done(strobe_mach.threads);
}

void strobe_mach_threads_leave(void)
{
    for (uint32_t i = 0; i <= strobe_mach.claims_mask; i++) {
        uint32_t state = (uint32_t)strobe_load_acquire(&strobe_mach.claims[i]);
        struct strobe_thread *t = state >= FIRST ? thread_at(state) : NULL;
        if (t)
            rename_by_port(t);
    }
    strobe_mach_threads_clear(strobe_mach.threads);
}
