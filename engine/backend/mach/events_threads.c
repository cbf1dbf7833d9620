/* Registration and sign-off of threads.
 *
 * A thread is registered by the introspection hook at its start, or by the first hook that it calls. The sampler
 * registers a thread that calls no hook, on behalf of that thread. A thread signs off at its end.
 *
 * Claims decide which thread registers a given thread: the one that makes the claim.
 *
 *   claim   thread id << 32 | state      state: CLAIMED, then FIRST + index in the session's thread table, or REFUSED
 *
 * The table of claims is an open-addressed hash table by thread id. Claims are never removed, because thread ids are
 * not reused. A thread that finds itself CLAIMED by the sampler tries again at its next event.
 *
 *   key     capture << 32 | state        value of the pthread key: the state of the thread's claim in this capture.
 *                                        OWN and BUSY are independent of the capture
 *
 * A thread signs off in the second round of its key destructors. Most other destructors have run by then, and its
 * thread-local variables still exist. A thread that the sampler registered, and that called no hook, signs off when it
 * terminates. */
#include "engine/backend/mach/events.h"

#include "engine/base/mix.h"

#include <string.h>

enum { CLAIMED = 1, REFUSED = 2, FIRST = 3 };

#define OWN        ((void *)1) /* key: the thread is one of the engine's own */
#define BUSY       ((void *)2) /* key: the thread is registering */
#define LAST_ROUND 0x80000000u /* flag in a key's state: the first round of destructors has run */

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

/* Returns the claim of a thread, and makes it when there is none; *mine is then true. NULL: the table is full. */
static strobe_a64 *make_claim(uint32_t tid, bool *mine)
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

/* Returns the claim of a thread; NULL when there is none. */
static const strobe_a64 *find_claim(uint32_t tid)
{
    uint32_t mask = strobe_mach.claims_mask, at = (uint32_t)strobe_mix64(tid) & mask;
    for (uint32_t n = 0; n <= mask; n++, at = (at + 1) & mask) {
        uint64_t is = strobe_load_acquire(&strobe_mach.claims[at]);
        if (!is || is >> 32 == tid)
            return is ? &strobe_mach.claims[at] : NULL;
    }
    return NULL;
}

static void publish_claim(strobe_a64 *claim, uint32_t tid, const struct strobe_thread *t)
{
    strobe_store_release(claim, (uint64_t)tid << 32 | (t ? t->index + FIRST : (uint32_t)REFUSED));
}

/* ---- the key */

static void *key_value(uint32_t state)
{
    return (void *)(uintptr_t)((uint64_t)strobe_load_relaxed(&strobe_capture_number) << 32 | state);
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

/* Returns the id of the calling thread; 0 when the system does not return it. */
static uint32_t mach_self_tid(void)
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

static struct strobe_thread *attach_self(uint32_t tid)
{
    char name[MAXTHREADNAMESIZE] = "";
    struct strobe_stack_bounds stack = stack_of(pthread_self());
    pthread_getname_np(pthread_self(), name, sizeof name);
    enum strobe_status put = strobe_mach_threads_put(strobe_mach.threads, tid, mach_thread_self());
    if (put != STROBE_OK && put != STROBE_EXISTS)
        return NULL;
    return strobe_thread_attach(&strobe_mach.engine, tid, pthread_main_np() == 1, name, &stack);
}

/* Claims and attaches the calling thread, unless it is claimed already. Returns the state of its claim. */
static uint32_t claim_self(void)
{
    uint32_t tid = mach_self_tid();
    bool mine;
    strobe_a64 *c = tid ? make_claim(tid, &mine) : NULL;
    if (!c)
        return REFUSED;
    if (mine)
        publish_claim(c, tid, attach_self(tid));
    return (uint32_t)strobe_load_acquire(c);
}

static struct strobe_thread *thread_at(uint32_t state)
{
    struct strobe_thread *t = &strobe_mach.engine.threads[state - FIRST];
    return strobe_load_relaxed(&t->entry->state) == STROBE_THREAD_LIVE ? t : NULL;
}

/* Stores the bounds of the calling thread's stack, which may be unknown when the sampler registered the thread. The
 * sampler reads the bounds only while the thread is suspended, or after the thread has published a scope. */
static void set_stack_bounds(struct strobe_thread *t)
{
    struct strobe_stack_bounds stack = stack_of(pthread_self());
    t->stack_low = stack.low;
    strobe_fence_signal();
    t->stack_high = stack.high;
}

/* The end of a capture waits until `registering` is 0. A thread that finds the switch off after it has incremented
 * `registering` does not register. */
static struct strobe_thread *register_self(void)
{
    int saved = errno;
    struct strobe_thread *t = NULL;
    pthread_setspecific(key, BUSY); /* the calls below may be hooked */
    strobe_add_acq_rel(&strobe_mach.registering, 1);
    strobe_fence_seq_cst();
    if (strobe_load_acquire(strobe_switch) != STROBE_OFF) { /* what the start has written is seen from here on */
        uint32_t state = claim_self();
        if (state >= FIRST)
            t = thread_at(state);
        if (t && !t->stack_high)
            set_stack_bounds(t);
        if (!t)
            count_untracked();
        void *value = key_value(t ? state : (uint32_t)REFUSED);
        strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
        pthread_setspecific(key, state == CLAIMED ? NULL : value);
    } else {
        strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
        pthread_setspecific(key, NULL);
    }
    errno = saved;
    return t;
}

/* Handles a key value that is not of this capture. */
static STROBE_NOINLINE struct strobe_thread *register_unless_own(const void *value, const char *call)
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
    if (strobe_unlikely(value >> 32 != strobe_load_relaxed(&strobe_capture_number)))
        return register_unless_own((const void *)(uintptr_t)value, call);
    if (strobe_unlikely(state < FIRST)) {
        count_untracked();
        return NULL;
    }
    return &strobe_mach.engine.threads[state - FIRST];
}

uint32_t strobe_mach_thread_is_own(void)
{
    uint32_t tid = mach_self_tid();
    strobe_mach_become_own();
    if (tid)
        strobe_mach_threads_drop(strobe_mach.threads, tid);
    return tid;
}

/* ---- on behalf of others */

/* Returns the stack bounds of the thread behind `port`, from the C library. Returns empty bounds when the C library
 * does not know the port, or when the port's pthread changes meanwhile. */
static struct strobe_stack_bounds stack_of_port(mach_port_t port)
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
    strobe_a64 *c = make_claim(found->tid, &mine);
    if (!c || !mine)
        return;
    struct strobe_stack_bounds stack = stack_of_port(found->port);
    publish_claim(c, found->tid,
                  strobe_thread_attach(&strobe_mach.engine, found->tid, found->is_main, found->name, &stack));
    strobe_local = local; /* strobe_thread_attach set it for the found thread */
}

/* ---- ends */

/* Uses strobe_mach.registering and the switch as register_self does. */
static void sign_off_thread(uint32_t state)
{
    char name[MAXTHREADNAMESIZE] = "";
    strobe_add_acq_rel(&strobe_mach.registering, 1);
    strobe_fence_seq_cst();
    struct strobe_thread *t = strobe_switched() != STROBE_OFF ? thread_at(state) : NULL;
    if (t) {
        uint32_t tid = t->entry->tid;
        strobe_point_forced(t, STROBE_KIND_THREAD, 0, STROBE_HERE);
        if (pthread_getname_np(pthread_self(), name, sizeof name) == 0)
            strobe_thread_rename(t, name); /* the name may have been set after the registration */
        strobe_hand_over(t, STROBE_MACH_OBJECT(pthread_self()), STROBE_RELEASE_ALL, STROBE_HERE);
        strobe_thread_detach(t);
        strobe_mach_threads_drop(strobe_mach.threads, tid);
    }
    strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
}

/* Destructor of the key. */
static void thread_key_destroyed(void *p)
{
    uint64_t value = STROBE_MACH_OBJECT(p);
    uint32_t state = (uint32_t)value & ~LAST_ROUND;
    if (value >> 32 != strobe_load_relaxed(&strobe_capture_number) || state < FIRST)
        return;
    if (!(value & LAST_ROUND)) {
        pthread_setspecific(key, (void *)(uintptr_t)(value | LAST_ROUND));
        return;
    }
    pthread_setspecific(key, key_value(REFUSED));
    sign_off_thread(state);
}

/* Called by a thread when all its code has run. Its key may be destroyed already, so its claim identifies it. */
static void thread_terminated(void)
{
    uint32_t tid = mach_self_tid();
    strobe_add_acq_rel(&strobe_mach.registering, 1); /* keeps the claims of this capture in memory */
    strobe_fence_seq_cst();
    const strobe_a64 *c = tid && strobe_switched() != STROBE_OFF ? find_claim(tid) : NULL;
    uint32_t state = c ? (uint32_t)strobe_load_acquire(c) : 0;
    if (state >= FIRST && pthread_getspecific(key) != OWN)
        sign_off_thread(state);
    strobe_add_acq_rel(&strobe_mach.registering, UINT32_MAX);
}

/* ---- names */

/* The session has the new name at once, also when the process is killed or the thread ends with the capture. */
static int hook_setname(const char *name)
{
    struct strobe_thread *t = strobe_mach_thread(strobe_switched(), "pthread_setname_np");
    int r = pthread_setname_self_np(name);
    if (t && r == 0)
        strobe_thread_rename(t, name);
    return r;
}

const struct strobe_rebinding strobe_mach_thread_rebindings[] = {
    {"pthread_setname_np", (void *)hook_setname, (void *)pthread_setname_self_np},
    {0},
};

/* ---- the introspection hook */

static void introspection_hook(unsigned event, pthread_t thread, void *address, size_t bytes)
{
    uint32_t on = strobe_switched();
    if (hook_before)
        hook_before(event, thread, address, bytes);
    if (on == STROBE_OFF)
        return;
    if (event == PTHREAD_INTROSPECTION_THREAD_START) {
        struct strobe_thread *t = strobe_mach_thread(on, "pthread_create");
        if (t)
            strobe_point_forced(t, STROBE_KIND_THREAD, 1, STROBE_HERE);
    } else if (event == PTHREAD_INTROSPECTION_THREAD_TERMINATE) {
        thread_terminated();
    }
}

/* ---- start and end */

bool strobe_mach_threads_begin(void)
{
    if (!key_made && pthread_key_create(&key, thread_key_destroyed) != 0)
        return false;
    key_made = true;
    return true;
}

void strobe_mach_threads_enter(void)
{
    claim_self();
}

void strobe_mach_threads_watch(void)
{
    if (!installed)
        hook_before = pthread_introspection_hook_install(introspection_hook);
    installed = true;
}

/* Removes the introspection hook. If other code has installed a hook later, that hook stays, and calls this one. */
void strobe_mach_threads_end(void)
{
    pthread_introspection_hook_t last = pthread_introspection_hook_install(hook_before);
    installed = last != introspection_hook;
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
