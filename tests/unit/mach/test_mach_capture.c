/* A whole capture on the fake Mach: the session contains the app's events, and the end restores the app. */
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"
#include "engine/trace/session/reader.h"
#include "sim/fake/mach/app.h"
#include "sim/fake/mach/fake.h"
#include "tests/support/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <mach/semaphore.h>
#include <malloc_logger.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAIT_NS = 3000000 };

static struct fake_mach_app *app;
static char path[TEMPORARY_BYTES];
static struct strobe_reader *seen;

/* ---- a capture */

static struct strobe_config every_event(void)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.interval_main_ns = c.interval_other_ns = 0;
    c.threads_max = 64;
    c.ring_slots = 1 << 15;
    c.stack_nodes = 1 << 15;
    return c;
}

static void begin_with(const struct strobe_config *c, uint32_t without)
{
    struct strobe_session session;
    struct strobe_mach_status status;
    struct strobe_error error = {""};
    assert_int_equal(strobe_session_create(path, c, "app", 1, &session), STROBE_OK);
    strobe_session_unmap(&session);
    close(session.fd);
    enum strobe_status began =
        strobe_mach_start(&(struct strobe_mach_options){.session_path = path, .without = without}, &status, &error);
    if (began != STROBE_OK)
        fail_msg("%s: %s", strobe_status_text(began), error.text);
    assert_int_equal(status.on, ((1u << STROBE_MACH_USES) - 1) & ~without);
}

static void begin(void)
{
    struct strobe_config c = every_event();
    begin_with(&c, 0);
}

static void end(void)
{
    struct strobe_error error;
    strobe_mach_stop();
    if (strobe_reader_open(path, &seen, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_true(seen->closed);
    assert_int_equal(seen->malformed, 0);
    assert_int_equal(seen->suspends, seen->resumes);
    assert_true(strobe_reader_check(seen, &error));
}

static int set_up(void **state)
{
    (void)state;
    app = fake_mach_app();
    temporary_path(path, "strobe-mach-capture-%d", (int)getpid());
    seen = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    strobe_mach_stop();
    if (seen)
        strobe_reader_close(seen);
    return unlink(path);
}

static const struct strobe_reader_thread *main_seen(void)
{
    for (uint32_t i = 0; i < seen->thread_count; i++)
        if (seen->threads[i].is_main)
            return &seen->threads[i];
    fail_msg("main is not in the session");
    return NULL;
}

static const struct strobe_reader_thread *thread_named(const char *name)
{
    const struct strobe_reader_thread *found = NULL;
    for (uint32_t i = 0; i < seen->thread_count; i++)
        if (strcmp(seen->threads[i].name, name) == 0) {
            assert_null(found); /* one identity */
            found = &seen->threads[i];
        }
    return found;
}

static uint64_t requests(enum strobe_kind kind)
{
    return main_seen()->kind[kind].requests;
}

static void sleep_ns(long ns)
{
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

static void nothing(void *context)
{
    (void)context;
}

/* ---- records of hooks */

static void allocations_and_releases_are_counted_to_the_last(void **state)
{
    (void)state;
    begin();
    void *p = app->malloc(100), *q = app->calloc(3, 50);
    p = app->realloc(p, 1000);
    assert_null(app->malloc(SIZE_MAX / 2)); /* what failed is no allocation */
    app->free(p);
    app->free(q);
    end();
    assert_int_equal(requests(STROBE_KIND_ALLOC), 3);
    assert_int_equal(requests(STROBE_KIND_FREE), 2);
    assert_int_equal(main_seen()->alloc_count, 3);
    assert_int_equal(main_seen()->alloc_bytes, 1250);
}

static void locks_that_are_free_are_points_and_so_is_giving_back(void **state)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    os_unfair_lock u = OS_UNFAIR_LOCK_INIT;
    dispatch_semaphore_t d = dispatch_semaphore_create(1);
    (void)state;
    begin();
    assert_int_equal(app->pthread_mutex_lock(&m), 0);
    assert_int_equal(app->pthread_mutex_trylock(&m), EBUSY);
    app->pthread_mutex_unlock(&m);
    app->os_unfair_lock_lock(&u);
    assert_false(app->os_unfair_lock_trylock(&u));
    app->os_unfair_lock_unlock(&u);
    app->pthread_rwlock_rdlock(&rw);
    app->pthread_rwlock_unlock(&rw);
    app->pthread_rwlock_wrlock(&rw);
    app->pthread_rwlock_unlock(&rw);
    app->pthread_cond_signal(&c);
    app->pthread_cond_broadcast(&c);
    assert_int_equal(app->dispatch_semaphore_wait(d, DISPATCH_TIME_FOREVER), 0);
    app->dispatch_semaphore_signal(d);
    end();
    assert_int_equal(requests(STROBE_KIND_MUTEX), 4);
    assert_int_equal(requests(STROBE_KIND_RWLOCK), 2);
    assert_int_equal(requests(STROBE_KIND_SEM), 1);
    assert_int_equal(requests(STROBE_KIND_UNLOCK), 7);
    assert_int_equal(requests(STROBE_KIND_COND), 0);
    const struct strobe_reader_thread *t = main_seen();
    for (size_t i = 0; i < t->item_count; i++)
        assert_false(t->items[i].record.kind == STROBE_KIND_MUTEX && t->items[i].record.flags & STROBE_FLAG_SCOPE);
    dispatch_release(d);
}

static void calls_that_may_wait_are_scopes_of_their_kind_and_keep_their_answer(void **state)
{
    char bytes[8];
    int pipe_ends[2];
    struct timespec now, short_time = {0, 1000};
    struct timeval day, none = {0, 0};
    (void)state;
    assert_int_equal(pipe(pipe_ends), 0);
    begin();
    errno = 0;
    assert_int_equal(app->open("/there/is/nothing", O_RDONLY), -1);
    assert_int_equal(errno, ENOENT);
    int fd = app->open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(app->pread(fd, bytes, 8, 0), 8);
    assert_int_equal(app->read(-1, bytes, 8), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(app->write(pipe_ends[1], bytes, 8), 8);
    assert_int_equal(app->fsync(pipe_ends[1]), -1);
    assert_int_equal(app->poll(&(struct pollfd){.fd = pipe_ends[0], .events = POLLIN}, 1, 0), 1);
    assert_int_equal(app->select(0, NULL, NULL, NULL, &none), 0);
    assert_int_equal(app->send(pipe_ends[1], bytes, 8, 0), -1);
    assert_int_equal(app->nanosleep(&short_time, NULL), 0);
    assert_int_equal(app->clock_gettime(CLOCK_REALTIME, &now), 0);
    assert_int_equal(app->gettimeofday(&day, NULL), 0);
    assert_int_equal(app->close(fd), 0);
    end();
    assert_int_equal(requests(STROBE_KIND_OPEN), 2);
    assert_int_equal(requests(STROBE_KIND_READ), 2);
    assert_int_equal(requests(STROBE_KIND_WRITE), 1);
    assert_int_equal(requests(STROBE_KIND_SYNC), 1);
    assert_int_equal(requests(STROBE_KIND_POLL), 2);
    assert_int_equal(requests(STROBE_KIND_NET), 1);
    assert_int_equal(requests(STROBE_KIND_SLEEP), 1);
    assert_int_equal(requests(STROBE_KIND_CLOCK), 2);
    assert_int_equal(requests(STROBE_KIND_CLOSE), 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void groups_that_are_not_wanted_leave_their_pointers_alone(void **state)
{
    struct strobe_config c = every_event();
    void *lock = (void *)app->pthread_mutex_lock, *reads = (void *)app->read;
    (void)state;
    begin_with(&c, 1u << STROBE_MACH_LOCKS | 1u << STROBE_MACH_MALLOC);
    assert_ptr_equal((void *)app->pthread_mutex_lock, lock);
    assert_ptr_not_equal((void *)app->read, reads);
    assert_null(malloc_logger);
    app->free(app->malloc(8));
    app->close(-1);
    end();
    assert_int_equal(requests(STROBE_KIND_ALLOC), 0);
    assert_int_equal(requests(STROBE_KIND_CLOSE), 1);
}

/* ---- waits and their wakers */

struct play {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
    os_unfair_lock unfair;
    dispatch_semaphore_t semaphore;
    semaphore_t port;
    mach_port_t inbox;
    dispatch_group_t group;
    dispatch_queue_t queue;
    dispatch_once_t once;
    uint64_t what; /* identity of the object that main waits for */
    bool go;
    _Atomic bool ready;
};

/* True when the engine has registered a wait for this object. */
static bool is_wait_registered(uint64_t what)
{
    struct strobe_waiter *waiter = strobe_mach.engine.blocking->waiter[strobe_block_index(what)];
    for (uint32_t i = 0; i < STROBE_BLOCK_WAITERS; i++)
        if (strobe_load_relaxed(&waiter[i].what) == what && strobe_load_acquire(&waiter[i].ticket))
            return true;
    return false;
}

/* Called by the waker while it has what main waits for. A release after this ends main's wait, however late main runs.
 * Meanwhile this thread locks and unlocks another lock repeatedly. */
static void hold_until_main_waits(void *p)
{
    struct play *s = p;
    pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
    s->ready = true;
    while (!is_wait_registered(s->what))
        sched_yield();
    for (int i = 0; i < 30; i++) {
        app->pthread_mutex_lock(&other);
        app->pthread_mutex_unlock(&other);
        sleep_ns(WAIT_NS / 30);
    }
}

/* A wait_case: how a thread waits, and how another thread ends the wait. The waker calls `takes` first. */
struct wait_case {
    const char *name;
    enum strobe_kind kind;
    void (*takes)(struct play *s), (*releases)(struct play *s), (*waits)(struct play *s);
    uint64_t (*what)(struct play *s);
};

static uint64_t object(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void take_mutex(struct play *s)
{
    app->pthread_mutex_lock(&s->mutex);
}
static void give_mutex(struct play *s)
{
    app->pthread_mutex_unlock(&s->mutex);
}
static void have_mutex(struct play *s)
{
    take_mutex(s), give_mutex(s);
}
static uint64_t the_mutex(struct play *s)
{
    return object(&s->mutex);
}

static void take_unfair(struct play *s)
{
    app->os_unfair_lock_lock(&s->unfair);
}
static void give_unfair(struct play *s)
{
    app->os_unfair_lock_unlock(&s->unfair);
}
static void have_unfair(struct play *s)
{
    take_unfair(s), give_unfair(s);
}
static uint64_t the_unfair(struct play *s)
{
    return object(&s->unfair);
}

static void take_write(struct play *s)
{
    app->pthread_rwlock_wrlock(&s->rwlock);
}
static void take_read(struct play *s)
{
    app->pthread_rwlock_rdlock(&s->rwlock);
}
static void give_rwlock(struct play *s)
{
    app->pthread_rwlock_unlock(&s->rwlock);
}
static void have_read(struct play *s)
{
    take_read(s), give_rwlock(s);
}
static void have_write(struct play *s)
{
    take_write(s), give_rwlock(s);
}
static uint64_t the_rwlock(struct play *s)
{
    return object(&s->rwlock);
}

static void take_nothing(struct play *s)
{
    (void)s;
}
static void await_cond(struct play *s)
{
    app->pthread_mutex_lock(&s->mutex);
    while (!s->go)
        app->pthread_cond_wait(&s->cond, &s->mutex);
    app->pthread_mutex_unlock(&s->mutex);
}
static void signal_cond(struct play *s)
{
    app->pthread_mutex_lock(&s->mutex);
    s->go = true;
    app->pthread_mutex_unlock(&s->mutex);
    app->pthread_cond_signal(&s->cond);
}
static uint64_t the_cond(struct play *s)
{
    return object(&s->cond);
}

static void await_semaphore(struct play *s)
{
    app->dispatch_semaphore_wait(s->semaphore, DISPATCH_TIME_FOREVER);
}
static void signal_semaphore(struct play *s)
{
    app->dispatch_semaphore_signal(s->semaphore);
}
static uint64_t the_semaphore(struct play *s)
{
    return object(s->semaphore);
}

static void await_port(struct play *s)
{
    app->semaphore_wait(s->port);
}
static void signal_port(struct play *s)
{
    app->semaphore_signal(s->port);
}
static uint64_t the_port(struct play *s)
{
    return UINT64_C(1) << 63 | s->port;
}

static mach_msg_return_t receive_at(mach_port_t port, mach_msg_option_t more, mach_msg_timeout_t timeout_ms)
{
    struct {
        mach_msg_header_t header;
        char rest[64];
    } message;
    return app->mach_msg(&message.header, MACH_RCV_MSG | more, 0, sizeof message, port, timeout_ms, MACH_PORT_NULL);
}

static void await_message(struct play *s)
{
    receive_at(s->inbox, 0, 0);
}
static void send_message(struct play *s)
{
    mach_msg_header_t m = {.msgh_size = sizeof m, .msgh_remote_port = s->inbox};
    app->mach_msg(&m, MACH_SEND_MSG, sizeof m, 0, MACH_PORT_NULL, 0, MACH_PORT_NULL);
}
static uint64_t the_inbox(struct play *s)
{
    return UINT64_C(1) << 63 | s->inbox;
}

static void enter_group(struct play *s)
{
    dispatch_group_enter(s->group);
}
static void leave_group(struct play *s)
{
    app->dispatch_group_leave(s->group);
}
static void await_group(struct play *s)
{
    app->dispatch_group_wait(s->group, DISPATCH_TIME_FOREVER);
}
static uint64_t the_group(struct play *s)
{
    return object(s->group);
}

static void use_queue(struct play *s)
{
    app->dispatch_sync_f(s->queue, s, hold_until_main_waits);
}
static void await_queue(struct play *s)
{
    app->dispatch_sync_f(s->queue, s, nothing);
}
static uint64_t the_queue(struct play *s)
{
    return object(s->queue);
}

static void do_once(struct play *s)
{
    app->dispatch_once_f(&s->once, s, hold_until_main_waits);
}
static uint64_t the_once(struct play *s)
{
    return object(&s->once);
}

static const struct wait_case wait_cases[] = {
    {"mutex", STROBE_KIND_MUTEX, take_mutex, give_mutex, have_mutex, the_mutex},
    {"unfair lock", STROBE_KIND_MUTEX, take_unfair, give_unfair, have_unfair, the_unfair},
    {"reader behind writer", STROBE_KIND_RWLOCK, take_write, give_rwlock, have_read, the_rwlock},
    {"writer behind reader", STROBE_KIND_RWLOCK, take_read, give_rwlock, have_write, the_rwlock},
    {"condition", STROBE_KIND_COND, take_nothing, signal_cond, await_cond, the_cond},
    {"dispatch semaphore", STROBE_KIND_SEM, take_nothing, signal_semaphore, await_semaphore, the_semaphore},
    {"Mach semaphore", STROBE_KIND_SEM, take_nothing, signal_port, await_port, the_port},
    {"message", STROBE_KIND_POLL, take_nothing, send_message, await_message, the_inbox},
    {"group", STROBE_KIND_COND, enter_group, leave_group, await_group, the_group},
    {"queue", STROBE_KIND_MUTEX, NULL, use_queue, await_queue, the_queue},
    {"once", STROBE_KIND_MUTEX, NULL, do_once, do_once, the_once},
};

struct part {
    struct play *play;
    const struct wait_case *wait_case;
};

static void *release_later(void *p)
{
    struct part *part = p;
    pthread_setname_np(pthread_self(), "waker");
    if (part->wait_case->takes) {
        part->wait_case->takes(part->play);
        hold_until_main_waits(part->play);
    }
    part->wait_case->releases(part->play);
    return NULL;
}

static void make_play(struct play *s)
{
    *s = (struct play){.mutex = PTHREAD_MUTEX_INITIALIZER,
                       .rwlock = PTHREAD_RWLOCK_INITIALIZER,
                       .cond = PTHREAD_COND_INITIALIZER,
                       .semaphore = dispatch_semaphore_create(0),
                       .group = dispatch_group_create(),
                       .queue = dispatch_queue_create("q", NULL)};
    assert_int_equal(semaphore_create(mach_task_self(), &s->port, 0, 0), KERN_SUCCESS);
    assert_int_equal(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &s->inbox), KERN_SUCCESS);
}

static void end_play(struct play *s)
{
    dispatch_release(s->semaphore);
    dispatch_release(s->group);
    dispatch_release(s->queue);
    semaphore_destroy(mach_task_self(), s->port);
    mach_port_mod_refs(mach_task_self(), s->inbox, MACH_PORT_RIGHT_RECEIVE, -1);
}

/* Asserts that main's wait has one record, which names the thread that released it. */
static void wait_and_check_waker(const struct wait_case *wait_case)
{
    struct play play;
    struct part part = {&play, wait_case};
    pthread_t thread;
    make_play(part.play);
    play.what = wait_case->what(&play);
    begin();
    assert_int_equal(app->pthread_create(&thread, NULL, release_later, &part), 0);
    while (!part.play->ready)
        sched_yield();
    wait_case->waits(part.play);
    app->pthread_join(thread, NULL);
    end();
    const struct strobe_reader_thread *t = main_seen(), *waker = thread_named("waker");
    size_t met = 0;
    assert_non_null(waker);
    for (size_t w = 0; w < t->woken_count; w++) {
        assert_ptr_equal(&seen->threads[t->woken[w].waker], waker);
        met += t->woken[w].what == play.what;
    }
    if (met != 1 || !t->kind[wait_case->kind].sampled)
        fail_msg("%s: %zu waits with a waker, expected 1", wait_case->name, met);
    strobe_reader_close(seen);
    seen = NULL;
    end_play(part.play);
}

/* S-76: the waker is right whichever other locks any thread takes meanwhile. */
static void each_wait_names_the_thread_that_released_it_S76(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wait_cases / sizeof wait_cases[0]; i++)
        wait_and_check_waker(&wait_cases[i]);
    begin();
    end();
}

static void a_wait_that_times_out_has_no_waker(void **state)
{
    struct play play;
    (void)state;
    make_play(&play);
    begin();
    pthread_mutex_lock(&play.mutex);
    assert_int_equal(app->pthread_cond_timedwait_relative_np(&play.cond, &play.mutex, &(struct timespec){0, WAIT_NS}),
                     ETIMEDOUT);
    pthread_mutex_unlock(&play.mutex);
    assert_int_not_equal(app->dispatch_semaphore_wait(play.semaphore, dispatch_time(DISPATCH_TIME_NOW, WAIT_NS)), 0);
    assert_int_equal(app->semaphore_timedwait(play.port, (mach_timespec_t){0, WAIT_NS}), KERN_OPERATION_TIMED_OUT);
    assert_int_equal(receive_at(play.inbox, MACH_RCV_TIMEOUT, WAIT_NS / 1000000), MACH_RCV_TIMED_OUT);
    end();
    assert_int_equal(main_seen()->woken_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(main_seen()->woken[i].waker, STROBE_NO_THREAD);
    end_play(&play);
}

/* ---- dispatch */

static void compute_for(long ns)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < ns);
}

static uint64_t ticks_now(void)
{
    return strobe_mach.host.host.ticks(strobe_mach.host.host.ctx);
}

static void compute(void *began_ticks)
{
    *(uint64_t *)began_ticks = ticks_now();
    compute_for(5000000);
}

static void work_that_a_queue_is_waited_for_is_no_wait(void **state)
{
    dispatch_queue_t queue = dispatch_queue_create("q", NULL);
    (void)state;
    uint64_t work_began;
    begin();
    app->dispatch_sync_f(queue, &work_began, compute);
    end();
    const struct strobe_reader_thread *t = main_seen();
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].record.kind == STROBE_KIND_MUTEX)
            assert_true(t->items[i].record.ticks + t->items[i].record.duration <= work_began);
    dispatch_release(queue);
}

static void allocate(void *done)
{
    app->free(app->malloc(8));
    *(_Atomic int *)done += 1;
}

static void allocate_block(void *block)
{
    struct {
        struct block_literal literal;
        _Atomic int *count;
    } *b = block;
    allocate(b->count);
}

/* Returns the number of messages in which a thread other than main allocated. */
static int messages_seen(void)
{
    int count = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < seen->item_count; i++) {
        const struct strobe_record *r = &seen->items[i].record;
        uint64_t message = (uint64_t)r->thread << 32 | r->message;
        if (r->kind == STROBE_KIND_ALLOC && &seen->threads[r->thread] != main_seen() && r->message && message != last)
            count++, last = message;
    }
    return count;
}

static void work_that_is_not_waited_for_runs_once_and_begins_a_message(void **state)
{
    static struct {
        uintptr_t reserved, size;
    } descriptor = {0, sizeof(struct block_literal) + sizeof(void *)};
    _Atomic int count = 0;
    struct {
        struct block_literal literal;
        _Atomic int *count;
    } block = {{.invoke = allocate_block, .descriptor = &descriptor}, &count};
    dispatch_queue_t queue = dispatch_queue_create("q", NULL);
    (void)state;
    begin();
    for (int i = 0; i < 3; i++) {
        app->dispatch_async(queue, &block);
        app->dispatch_async_f(queue, &count, allocate);
    }
    while (count < 6)
        sched_yield();
    app->dispatch_sync_f(queue, NULL, nothing);
    end();
    assert_int_equal(count, 6);
    assert_int_equal(messages_seen(), 6);
    dispatch_release(queue);
}

/* ---- threads */

static _Atomic bool stop_computing;

static void *compute_quietly(void *unused)
{
    pthread_setname_np(pthread_self(), "quiet");
    while (!stop_computing)
        compute_for(100000);
    return unused;
}

/* Waits until the current capture has a thread of that name with more than `samples` samples. */
static void await_samples(const char *name, uint64_t samples)
{
    for (bool met = false; !met;) {
        struct strobe_reader *now;
        struct strobe_error error = {""};
        sleep_ns(5000000);
        if (strobe_reader_open(path, &now, &error) != STROBE_OK)
            fail_msg("%s", error.text);
        for (uint32_t i = 0; i < now->thread_count; i++)
            met |= strcmp(now->threads[i].name, name) == 0 && now->threads[i].kind[STROBE_KIND_ASYNC].sampled > samples;
        strobe_reader_close(now);
    }
}

static void a_thread_that_was_there_and_meets_no_hook_is_sampled_and_ends_as_any(void **state)
{
    pthread_t thread;
    (void)state;
    stop_computing = false;
    assert_int_equal(app->pthread_create(&thread, NULL, compute_quietly, NULL), 0);
    sleep_ns(WAIT_NS);
    begin();
    await_samples("quiet", 20);
    stop_computing = true;
    app->pthread_join(thread, NULL);
    end();
    const struct strobe_reader_thread *t = thread_named("quiet");
    assert_non_null(t);
    assert_true(t->kind[STROBE_KIND_ASYNC].sampled > 20);
    assert_int_equal(t->kind[STROBE_KIND_THREAD].requests, 1);
    assert_int_equal(t->state, STROBE_THREAD_ENDED);
    assert_null(thread_named("strobe-sampler"));
}

/* Far below the begin of the stack, beyond the part that is read of a stack with unknown bounds. */
static __attribute__((noinline)) int lock_deep_down(pthread_mutex_t *m, int levels)
{
    volatile char pad[400] = {0};
    int answer = levels ? lock_deep_down(m, levels - 1) : app->pthread_mutex_lock(m) + app->pthread_mutex_unlock(m);
    return answer + pad[0];
}

static void *sleep_then_lock(void *p)
{
    pthread_setname_np(pthread_self(), "late");
    while (!stop_computing)
        sleep_ns(1000000);
    lock_deep_down(p, 20);
    return NULL;
}

static void a_thread_that_was_found_and_then_meets_a_hook_is_one_and_ends_in_order(void **state)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    (void)state;
    stop_computing = false;
    assert_int_equal(app->pthread_create(&thread, NULL, sleep_then_lock, &m), 0);
    sleep_ns(WAIT_NS);
    begin();
    await_samples("late", 0);
    stop_computing = true;
    app->pthread_join(thread, NULL);
    end();
    const struct strobe_reader_thread *t = thread_named("late");
    assert_non_null(t);
    assert_int_equal(t->kind[STROBE_KIND_MUTEX].requests, 1);
    assert_int_equal(t->kind[STROBE_KIND_THREAD].requests, 1);
    assert_int_equal(t->state, STROBE_THREAD_ENDED);
    for (size_t i = 0; i < t->item_count; i++)
        assert_true(t->items[i].record.kind != STROBE_KIND_MUTEX || !(t->items[i].record.flags & STROBE_FLAG_DOUBTFUL));
}

static void *name_itself(void *name)
{
    pthread_setname_np(pthread_self(), name);
    return NULL;
}

static void threads_are_reported_when_they_begin_and_end_with_their_last_name(void **state)
{
    pthread_t thread;
    (void)state;
    begin();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(app->pthread_create(&thread, NULL, name_itself, "short"), 0);
        app->pthread_join(thread, NULL);
    }
    end();
    int met = 0;
    for (uint32_t i = 0; i < seen->thread_count; i++) {
        const struct strobe_reader_thread *t = &seen->threads[i];
        if (strcmp(t->name, "short") != 0)
            continue;
        met++;
        assert_int_equal(t->kind[STROBE_KIND_THREAD].requests, 2);
        assert_int_equal(t->state, STROBE_THREAD_ENDED);
    }
    assert_int_equal(met, 20);
}

static void events_beyond_the_thread_table_are_counted(void **state)
{
    struct strobe_config c = every_event();
    pthread_t thread;
    (void)state;
    c.threads_max = 4;
    begin_with(&c, 0);
    app->free(app->malloc(8));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(app->pthread_create(&thread, NULL, name_itself, "short"), 0);
        app->pthread_join(thread, NULL);
    }
    end();
    assert_true(seen->untracked >= 4);
    assert_int_equal(seen->thread_count, 4);
}

/* ---- the loop */

static void receive(mach_msg_timeout_t timeout_ms)
{
    receive_at(MACH_PORT_NULL, MACH_RCV_TIMEOUT, timeout_ms);
}

static void each_return_from_the_loops_wait_begins_a_message(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 5; i++) {
        receive(0);
        app->free(app->malloc(8));
    }
    end();
    const struct strobe_reader_thread *t = main_seen();
    uint32_t met = 0;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].record.kind == STROBE_KIND_ALLOC)
            met |= 1u << t->items[i].record.message;
    assert_int_equal(met, 0x3e);
}

/* ---- images */

static void images_that_come_are_hooked_and_noted_and_those_that_go_are_forgotten(void **state)
{
    (void)state;
    begin();
    const struct mach_header_64 *more = fake_mach_image_open("/app/more.dylib");
    struct fake_mach_app *calls = fake_mach_image_app(more);
    assert_ptr_equal((void *)calls->read, (void *)app->read); /* both pointers lead to the hook */
    calls->close(-1);
    const struct mach_header_64 *brief = fake_mach_image_open("/app/brief.dylib");
    fake_mach_image_close(brief);
    end();
    assert_int_equal(requests(STROBE_KIND_CLOSE), 1);
    assert_ptr_equal((void *)calls->read, (void *)read);
    bool met = false;
    for (uint32_t i = 0; i < seen->image_count; i++) {
        const struct strobe_image_entry *e = strobe_reader_image(seen, i);
        met |= e && strcmp(e->path, "/app/more.dylib") == 0 && e->start == object(more) &&
               e->bias == object(more) - 0x100000000 && e->build_id_bytes == 16;
    }
    assert_true(met);
    fake_mach_image_close(more);
}

/* ---- the end */

static void the_end_leaves_the_app_as_it_was_and_another_capture_can_begin(void **state)
{
    static unsigned char before[sizeof(struct fake_mach_app)];
    pthread_t thread;
    (void)state;
    stop_computing = false;
    assert_int_equal(app->pthread_create(&thread, NULL, compute_quietly, NULL), 0);
    memcpy(before, app, sizeof before);
    int64_t rights = fake_mach_rights();
    for (int i = 0; i < 3; i++) {
        begin();
        struct strobe_error error = {""};
        assert_int_equal(strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error),
                         STROBE_EXISTS);
        assert_memory_not_equal(before, app, sizeof before);
        app->free(app->malloc(8));
        sleep_ns(20000000);
        end();
        assert_int_equal(requests(STROBE_KIND_ALLOC), 1);
        assert_memory_equal(before, app, sizeof before);
        assert_null(malloc_logger);
        assert_int_equal(fake_mach_rights(), rights);
        assert_int_equal(fake_mach_suspended(), 0);
        strobe_reader_close(seen);
        seen = NULL;
    }
    stop_computing = true;
    app->pthread_join(thread, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(allocations_and_releases_are_counted_to_the_last),
        TEST(locks_that_are_free_are_points_and_so_is_giving_back),
        TEST(calls_that_may_wait_are_scopes_of_their_kind_and_keep_their_answer),
        TEST(groups_that_are_not_wanted_leave_their_pointers_alone),
        TEST(each_wait_names_the_thread_that_released_it_S76),
        TEST(a_wait_that_times_out_has_no_waker),
        TEST(work_that_a_queue_is_waited_for_is_no_wait),
        TEST(work_that_is_not_waited_for_runs_once_and_begins_a_message),
        TEST(a_thread_that_was_there_and_meets_no_hook_is_sampled_and_ends_as_any),
        TEST(a_thread_that_was_found_and_then_meets_a_hook_is_one_and_ends_in_order),
        TEST(threads_are_reported_when_they_begin_and_end_with_their_last_name),
        TEST(events_beyond_the_thread_table_are_counted),
        TEST(each_return_from_the_loops_wait_begins_a_message),
        TEST(images_that_come_are_hooked_and_noted_and_those_that_go_are_forgotten),
        TEST(the_end_leaves_the_app_as_it_was_and_another_capture_can_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
