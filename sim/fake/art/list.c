/* The list of threads: adding and removing threads, suspending them. The runtime's exports differ by level in their
 * parameters; all of them call the same few functions. */
#include "sim/fake/art/thread.h"

#include <stdlib.h>

enum { PATIENCE_MS = 10000, PATIENCE_MS_SINCE_35 = 4000, MILLISECOND = 1000000 };

struct fake_thread_list fake_list;

__attribute__((constructor(102))) static void init_thread_list(void)
{
    fake_list.end.previous = fake_list.end.next = &fake_list.end;
    fake_mutex_init(&fake_list.lock);
    fake_cond_init(&fake_list.stopped);
    fake_cond_init(&fake_list.resumed);
    fake_cond_init(&fake_list.changed);
}

static void list_lock(void)
{
    fake_mutex_lock(&fake_list.lock);
}
static void list_unlock(void)
{
    fake_mutex_unlock(&fake_list.lock);
}

/* ---- counts; with the list locked ---- */

int32_t fake_suspend_count(const struct fake_thread *t)
{
    return FAKE_AT(t, fake_layout->thread_suspend_count, const int32_t);
}

void fake_suspend_count_add(struct fake_thread *t, int32_t n)
{
    int32_t *count = &FAKE_AT(t, fake_layout->thread_suspend_count, int32_t);
    *count += n;
    FAKE_CHECK(*count >= 0);
    if (*count)
        atomic_fetch_or(fake_state_and_flags(t), FAKE_FLAG_SUSPEND);
    else
        atomic_fetch_and(fake_state_and_flags(t), ~(uint32_t)FAKE_FLAG_SUSPEND);
    if (n < 0)
        fake_cond_broadcast(&fake_list.resumed);
}

/* ---- registration ---- */

static uint32_t lowest_free_id(void)
{
    for (uint32_t i = 0; i < FAKE_THREAD_IDS; i++)
        if (!(fake_list.allocated_ids[i / 64] >> i % 64 & 1)) {
            fake_list.allocated_ids[i / 64] |= (uint64_t)1 << i % 64;
            return i + 1;
        }
    fake_check_failed("out of thread ids", __FILE__, __LINE__);
}

static void count_list(int n)
{
    fake_list.end.thread = (struct fake_thread *)((uintptr_t)fake_list.end.thread + (uintptr_t)(intptr_t)n);
}

void fake_list_register(struct fake_thread *self)
{
    struct fake_list_node *node = &fake_own(self)->node;
    list_lock();
    FAKE_AT(self, fake_layout->thread_thin_lock_id, uint32_t) = lowest_free_id();
    node->next = &fake_list.end;
    node->previous = fake_list.end.previous;
    node->previous->next = node->next->previous = node;
    count_list(1);
    if (fake_list.all_suspended)
        fake_suspend_count_add(self, 1);
    list_unlock();
}

void fake_list_unregister(struct fake_thread *self)
{
    uint32_t id = fake_thread_id(self) - 1;
    struct fake_list_node *node = &fake_own(self)->node;
    for (;; fake_suspend_check(self)) {
        list_lock();
        if (!fake_suspend_count(self) && !fake_own(self)->checkpoints)
            break;
        list_unlock();
    }
    node->previous->next = node->next;
    node->next->previous = node->previous;
    count_list(-1);
    fake_list.allocated_ids[id / 64] &= ~((uint64_t)1 << id % 64);
    fake_cond_broadcast(&fake_list.changed);
    list_unlock();
}

struct fake_thread *fake_list_by_id(uint32_t id)
{
    FAKE_FOR_EACH(t)
    if (fake_thread_id(t) == id)
        return t;
    return NULL;
}

static struct fake_thread *by_peer(const struct fake_object *peer)
{
    FAKE_FOR_EACH(t)
    if (fake_thread_peer(t) == peer)
        return t;
    return NULL;
}

static bool on_list(const struct fake_thread *thread)
{
    FAKE_FOR_EACH(t)
    if (t == thread)
        return true;
    return false;
}

bool fake_with_thread(const struct fake_object *peer, void (*visit)(struct fake_thread *, void *), void *ctx)
{
    list_lock();
    struct fake_thread *t = by_peer(peer);
    if (t)
        visit(t, ctx);
    list_unlock();
    return t != NULL;
}

void fake_for_each_thread(void (*visit)(struct fake_thread *, void *), void *ctx)
{
    list_lock();
    FAKE_FOR_EACH(t)
    visit(t, ctx);
    list_unlock();
}

/* ---- one thread ---- */

static uint64_t suspend_patience_ns(void)
{
    const char *text = getenv("FAKE_ART_SUSPEND_TIMEOUT_MS");
    long ms = text ? strtol(text, NULL, 10) : fake_level < 35 ? PATIENCE_MS : PATIENCE_MS_SINCE_35;
    return (uint64_t)ms * MILLISECOND;
}

void fake_wait_to_suspend(const struct fake_thread *self)
{
    while (self && fake_suspend_count(self))
        fake_cond_wait(&fake_list.resumed, &fake_list.lock, UINT64_MAX);
}

/* Called with the list locked, by a thread that is not RUNNABLE. t cannot leave the list while its count is not 0. */
static struct fake_thread *list_stop_thread(struct fake_thread *t, bool *timed_out)
{
    uint64_t deadline = fake_now_ns() + suspend_patience_ns();
    fake_suspend_count_add(t, 1);
    while (!fake_is_stopped(t) && fake_cond_wait(&fake_list.stopped, &fake_list.lock, deadline))
        ;
    if (fake_is_stopped(t))
        return t;
    fake_suspend_count_add(t, -1);
    *timed_out = true;
    return NULL;
}

static struct fake_thread *list_suspend_thread(struct fake_thread *(*find)(const void *), const void *what,
                                               bool *timed_out)
{
    struct fake_thread *self = fake_self();
    bool was_runnable = self && fake_runnable(self), late = false;
    if (was_runnable)
        fake_to_native(self, FAKE_WAITING);
    list_lock();
    fake_wait_to_suspend(self);
    struct fake_thread *t = find(what);
    FAKE_CHECK(!t || t != self);
    if (t)
        t = list_stop_thread(t, &late);
    list_unlock();
    if (was_runnable)
        fake_to_runnable(self);
    if (timed_out)
        *timed_out = late;
    return t;
}

static struct fake_thread *find_id(const void *id)
{
    return fake_list_by_id(*(const uint32_t *)id);
}
static struct fake_thread *find_peer(const void *peer)
{
    return by_peer(peer);
}

static bool list_resume_thread(struct fake_thread *t)
{
    list_lock();
    bool was = on_list(t) && fake_suspend_count(t) > 0;
    if (was)
        fake_suspend_count_add(t, -1);
    list_unlock();
    return was;
}

#define LIST "_ZN3art10ThreadList"

struct fake_thread *fake_suspend_24(void *list, uint32_t id, bool debug, bool *late)
    FAKE_EXPORT(LIST "23SuspendThreadByThreadIdEjbPb");
struct fake_thread *fake_suspend_24(void *list, uint32_t id, bool debug, bool *late)
{
    (void)list, (void)debug;
    return list_suspend_thread(find_id, &id, late);
}

struct fake_thread *fake_suspend_27(void *list, uint32_t id, char reason, bool *late)
    FAKE_EXPORT(LIST "23SuspendThreadByThreadIdEjNS_13SuspendReasonEPb");
struct fake_thread *fake_suspend_27(void *list, uint32_t id, char reason, bool *late)
{
    (void)list, (void)reason;
    return list_suspend_thread(find_id, &id, late);
}

struct fake_thread *fake_suspend_35(void *list, uint32_t id, char reason)
    FAKE_EXPORT(LIST "23SuspendThreadByThreadIdEjNS_13SuspendReasonE");
struct fake_thread *fake_suspend_35(void *list, uint32_t id, char reason)
{
    (void)list, (void)reason;
    return list_suspend_thread(find_id, &id, NULL);
}

/* `attempt` of 4, each with a share of the time limit; 0: the only attempt. */
struct fake_thread *fake_suspend_36(void *list, uint32_t id, char reason, int attempt)
    FAKE_EXPORT(LIST "23SuspendThreadByThreadIdEjNS_13SuspendReasonEi");
struct fake_thread *fake_suspend_36(void *list, uint32_t id, char reason, int attempt)
{
    (void)list, (void)reason;
    FAKE_CHECK(attempt >= 0 && attempt <= 4);
    return list_suspend_thread(find_id, &id, NULL);
}

static struct fake_thread *suspend_peer(void *peer, bool *late)
{
    return list_suspend_thread(find_peer, fake_decode(fake_self(), peer), late);
}

/* "request": false when the debugger has raised the count already, which does not happen here. */
struct fake_thread *fake_suspend_peer_24(void *list, void *peer, bool request, bool debug, bool *late)
    FAKE_EXPORT(LIST "19SuspendThreadByPeerEP8_jobjectbbPb");
struct fake_thread *fake_suspend_peer_24(void *list, void *peer, bool request, bool debug, bool *late)
{
    (void)list, (void)debug;
    FAKE_CHECK(request);
    return suspend_peer(peer, late);
}

struct fake_thread *fake_suspend_peer_27(void *list, void *peer, bool request, char reason, bool *late)
    FAKE_EXPORT(LIST "19SuspendThreadByPeerEP8_jobjectbNS_13SuspendReasonEPb");
struct fake_thread *fake_suspend_peer_27(void *list, void *peer, bool request, char reason, bool *late)
{
    (void)list, (void)reason;
    FAKE_CHECK(request);
    return suspend_peer(peer, late);
}

struct fake_thread *fake_suspend_peer_32(void *list, void *peer, char reason, bool *late)
    FAKE_EXPORT(LIST "19SuspendThreadByPeerEP8_jobjectNS_13SuspendReasonEPb");
struct fake_thread *fake_suspend_peer_32(void *list, void *peer, char reason, bool *late)
{
    (void)list, (void)reason;
    return suspend_peer(peer, late);
}

struct fake_thread *fake_suspend_peer_35(void *list, void *peer, char reason)
    FAKE_EXPORT(LIST "19SuspendThreadByPeerEP8_jobjectNS_13SuspendReasonE");
struct fake_thread *fake_suspend_peer_35(void *list, void *peer, char reason)
{
    (void)list, (void)reason;
    return suspend_peer(peer, NULL);
}

bool fake_resume_24(void *list, struct fake_thread *t, bool debug) FAKE_EXPORT(LIST "6ResumeEPNS_6ThreadEb");
bool fake_resume_24(void *list, struct fake_thread *t, bool debug)
{
    (void)list, (void)debug;
    return list_resume_thread(t);
}

bool fake_resume_27(void *list, struct fake_thread *t, char reason)
    FAKE_EXPORT(LIST "6ResumeEPNS_6ThreadENS_13SuspendReasonE");
bool fake_resume_27(void *list, struct fake_thread *t, char reason)
{
    (void)list, (void)reason;
    return list_resume_thread(t);
}

struct fake_thread *fake_suspend_by_id(struct fake_thread *self, uint32_t id)
{
    bool late;
    FAKE_CHECK(!fake_runnable(self));
    if (fake_level < 27)
        return fake_suspend_24(&fake_list, id, false, &late);
    if (fake_level < 35)
        return fake_suspend_27(&fake_list, id, 0, &late);
    return fake_level == 35 ? fake_suspend_35(&fake_list, id, 0) : fake_suspend_36(&fake_list, id, 0, 0);
}

void fake_resume(struct fake_thread *self, struct fake_thread *t)
{
    (void)self;
    bool was = fake_level < 27 ? fake_resume_24(&fake_list, t, false) : fake_resume_27(&fake_list, t, 0);
    FAKE_CHECK(was);
}
