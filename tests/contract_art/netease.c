/* Capture of method pointers by suspension (engine/method/netease/art/netease.h): the contents of the ring and of the
 * session, threads that cannot be stopped, invalid pointers, and methods that were unloaded. */
#include "engine/method/netease/art/netease.h"
#include "engine/base/error.h"
#include "sim/genuine/jni_calls.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/window.h"
#include "tests/contract_art/support/workload.h"
#include "tests/faults/faulty.h"
#include "tests/support/temporary.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAPACITY = 4, DEEP = 4, TURNS = 20 };

/* The state of a capture that a case controls directly. */
struct hand {
    struct contract *c;
    struct strobe_libart libart;
    struct strobe_art_runtime runtime;
    struct strobe_art_threads threads;
    struct strobe_netease_sampler sampler;
    struct strobe_netease_ring ring;
};

static struct hand *hand_new(struct contract *c, uint32_t capacity)
{
    struct hand *h = calloc(1, sizeof *h);
    size_t bytes = strobe_netease_ring_bytes(capacity, STROBE_NETEASE_FRAMES);
    void *memory = calloc(1, bytes);
    if (!h || !memory)
        _exit(1);
    h->c = c;
    h->libart = c->libart;
    h->runtime = workload_runtime(c);
    strobe_netease_ring_create(memory, capacity, STROBE_NETEASE_FRAMES);
    strobe_netease_ring_open(memory, bytes, &h->ring);
    strobe_netease_sampler_init(&h->sampler, &h->libart, &h->runtime, &h->threads, &h->ring);
    strobe_netease_meet_threads(&h->libart, &h->runtime, &h->sampler.host.linux.host, &h->threads);
    return h;
}

/* ---- threads to be captured ---- */

/* A thread that stays in the native method Main.sample, below DEEP calls of Main.deep, until `leave` is set. */
struct guest {
    struct java_thread java;
    atomic_int inside, leave, over;
};
static struct guest guest;

static void stay(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)env, (void)class, (void)what;
    guest.inside = 1;
    while (!guest.leave)
        workload_pause(1);
}

static void call_down(struct strobe_jni *env, void *unused)
{
    (void)unused;
    java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = DEEP - 1});
    guest.over = 1;
}

static uint32_t start_guest(struct contract *c)
{
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)stay);
    java_thread_start(&guest.java, c->art.vm, call_down, NULL);
    for (int i = 0; i < 10000 && !guest.inside; i++)
        workload_pause(1);
    return (uint32_t)guest.java.tid;
}

static void end_guest(void)
{
    guest.leave = 1;
    java_thread_join(&guest.java);
}

static bool comes_back(void)
{
    for (int i = 0; i < 5000 && !guest.over; i++)
        workload_pause(1);
    return guest.over;
}

static bool is_pseudo(const struct contract *c, uint64_t method)
{
    uint32_t index;
    memcpy(&index, (const char *)(uintptr_t)method + c->libart.level->method_dex_index, sizeof index);
    return index == UINT32_MAX;
}

/* Checks the guest's stack: DEEP calls of Main.deep, then Main.sample. Pseudo-methods may occur anywhere. */
static void check_guest_stack(struct contract *c, const uint64_t *frames, uint32_t count)
{
    uint64_t deep = workload_static(c->art.env, "Main", "deep", "(I)V");
    uint64_t sample = workload_static(c->art.env, "Main", "sample", "(I)V");
    uint32_t methods = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_pseudo(c, frames[i]))
            continue;
        CHECK(c, frames[i] == (methods < DEEP ? deep : sample), "frame %u", i);
        methods++;
    }
    CHECK(c, methods == DEEP + 1, "%u methods", methods);
}

static void check_counts(struct contract *c, const struct strobe_netease_counts *n)
{
    uint64_t outcomes = n->captured + n->refused + n->not_stopped + n->gone + n->let_go + n->empty + n->illegal;
    CHECK(c, n->wishes == outcomes, "%llu wishes, %llu outcomes", (unsigned long long)n->wishes,
          (unsigned long long)outcomes);
    CHECK(c, n->stops == n->resumes, "%llu stops", (unsigned long long)n->stops);
}

/* ---- captures that a case controls directly ---- */

static void captures_are_kept_newest_first_and_the_overwritten_are_counted(struct contract *c)
{
    uint32_t tid = start_guest(c);
    struct hand *h = hand_new(c, CAPACITY);
    struct strobe_netease_list list;
    struct strobe_netease_capture got;
    static uint64_t frames[STROBE_NETEASE_FRAMES];
    uint64_t number, before = 10, read = 0;
    for (uint64_t i = 0; i < 10; i++)
        CHECK(c, strobe_netease_capture(&h->sampler, tid, &number) == STROBE_OK && number == i, "capture %d", (int)i);
    CHECK(c, strobe_netease_ring_overwritten(&h->ring) == 10 - CAPACITY, "%llu",
          (unsigned long long)strobe_netease_ring_overwritten(&h->ring));
    strobe_netease_list_begin(&h->ring, &list);
    while (strobe_netease_list_next(&h->ring, &list, &got, frames)) {
        CHECK(c, got.number == --before && got.tid == tid && !got.cut, "capture %llu", (unsigned long long)got.number);
        check_guest_stack(c, frames, got.count);
        read++;
    }
    CHECK(c, read == CAPACITY && h->sampler.counts.captured == 10, "%llu read", (unsigned long long)read);
    check_counts(c, &h->sampler.counts);
    end_guest();
}

static void threads_that_are_not_there_are_neither_captured_nor_resumed(struct contract *c)
{
    uint32_t tid = start_guest(c);
    struct hand *h = hand_new(c, CAPACITY);
    struct strobe_netease_counts *n = &h->sampler.counts;
    uint64_t number, late = 0;
    enum strobe_status met;
    end_guest();
    /* A thread that was joined may still be ending in the kernel. It cannot be stopped then. */
    for (int ms = 0; ms < 2000 && syscall(SYS_tgkill, getpid(), tid, 0) == 0; ms++)
        usleep(1000);
    while ((met = strobe_netease_capture(&h->sampler, tid, &number)) == STROBE_LATE && late < 100)
        late++;
    CHECK(c, met == STROBE_GONE && n->gone == 1, "after its end: %d, %d times late", (int)met, (int)late);
    CHECK(c, strobe_netease_capture(&h->sampler, 1 << 22, &number) == STROBE_GONE && n->gone == 2, "nobody");
    CHECK(c, strobe_netease_capture(&h->sampler, workload_tid(), &number) == STROBE_LATE && n->not_stopped == late + 1,
          "itself");
    CHECK(c, n->stops == 0 && strobe_netease_ring_drawn(&h->ring) == 0, "%llu stops", (unsigned long long)n->stops);
    check_counts(c, n);
}

/* Other code holds the thread suspended meanwhile, so an extra resume would let it run. */
static void a_thread_that_did_not_stop_is_not_resumed(struct contract *c)
{
    uint32_t tid = start_guest(c), id;
    struct hand *h = hand_new(c, CAPACITY);
    uint64_t number;
    void *thread;
    if (!CHECK(c, strobe_art_threads_get(&h->threads, tid, &thread, &id) == STROBE_OK, "unknown"))
        return;
    CHECK(c, strobe_art_suspend(&h->libart, h->runtime.thread_list, id) == thread, "not held");
    strobe_art_threads_put(&h->threads, tid, thread, 60000); /* an id without a thread, so the runtime stops none */
    CHECK(c, strobe_netease_capture(&h->sampler, tid, &number) == STROBE_LATE, "stopped");
    CHECK(c, h->sampler.counts.not_stopped == 1 && h->sampler.counts.resumes == 0, "resumed");
    guest.leave = 1;
    workload_pause(30);
    CHECK(c, !guest.over, "it was let go");
    CHECK(c, strobe_art_resume(&h->libart, h->runtime.thread_list, thread), "resume");
    CHECK(c, comes_back(), "it did not come back");
    check_counts(c, &h->sampler.counts);
}

/* ---- reads of a stack ---- */

static struct hand *reading;
static const void *(*real_method)(const void *walk);
static int met;

static const void *third_leads_nowhere(const void *walk)
{
    const void *method = real_method(walk);
    return ++met == 3 ? (const void *)(uintptr_t)0x70 : method;
}

/* Resumes the thread as the watchdog does. */
static const void *resume_meanwhile(const void *walk)
{
    uint64_t thread = strobe_hold_claim(&reading->sampler.host.hold);
    if (thread)
        strobe_art_resume(&reading->libart, reading->runtime.thread_list, (void *)(uintptr_t)thread);
    return real_method(walk);
}

static enum strobe_status capture_with(struct hand *h, uint32_t tid, const void *(*method)(const void *))
{
    uint64_t number;
    reading = h;
    met = 0;
    real_method = (const void *(*)(const void *))(uintptr_t)h->libart.address[STROBE_ART_VISITOR_METHOD];
    h->libart.address[STROBE_ART_VISITOR_METHOD] = (uint64_t)(uintptr_t)method;
    enum strobe_status status = strobe_netease_capture(&h->sampler, tid, &number);
    h->libart.address[STROBE_ART_VISITOR_METHOD] = (uint64_t)(uintptr_t)real_method;
    return status;
}

static void a_pointer_that_leads_nowhere_costs_the_whole_capture(struct contract *c)
{
    uint32_t tid = start_guest(c);
    struct hand *h = hand_new(c, CAPACITY);
    uint64_t number;
    CHECK(c, capture_with(h, tid, third_leads_nowhere) == STROBE_UNREADABLE, "taken");
    CHECK(c, h->sampler.counts.illegal == 1 && strobe_netease_ring_drawn(&h->ring) == 0, "in the ring");
    CHECK(c, strobe_netease_capture(&h->sampler, tid, &number) == STROBE_OK, "the next one");
    check_counts(c, &h->sampler.counts);
    end_guest();
}

static void what_was_walked_of_a_thread_that_the_watchdog_let_go_is_thrown_away(struct contract *c)
{
    uint32_t tid = start_guest(c);
    struct hand *h = hand_new(c, CAPACITY);
    CHECK(c, capture_with(h, tid, resume_meanwhile) == STROBE_LATE, "taken");
    CHECK(c, h->sampler.counts.let_go == 1 && strobe_netease_ring_drawn(&h->ring) == 0, "in the ring");
    check_counts(c, &h->sampler.counts);
    end_guest();
    CHECK(c, guest.over, "it stands");
}

/* ---- two captures at once ---- */

struct second {
    struct hand *h;
    uint32_t tid;
    struct strobe_netease_sampler sampler;
};

static void capture_many(struct strobe_netease_sampler *s, uint32_t tid)
{
    uint64_t number;
    for (int i = 0; i < TURNS; i++)
        strobe_netease_capture(s, tid, &number);
}

static void capture_too(struct strobe_jni *env, void *second)
{
    struct second *m = second;
    (void)env;
    capture_many(&m->sampler, m->tid);
}

static void two_who_capture_one_thread_at_once_leave_it_running(struct contract *c)
{
    static struct second second;
    static uint64_t frames[STROBE_NETEASE_FRAMES];
    struct java_thread other;
    struct strobe_netease_list list;
    struct strobe_netease_capture got;
    uint32_t tid = start_guest(c);
    struct hand *h = hand_new(c, 2 * TURNS);
    second.h = h;
    second.tid = tid;
    strobe_netease_sampler_init(&second.sampler, &h->libart, &h->runtime, &h->threads, &h->ring);
    java_thread_start(&other, c->art.vm, capture_too, &second);
    capture_many(&h->sampler, tid);
    java_thread_join(&other);
    strobe_netease_list_begin(&h->ring, &list);
    while (strobe_netease_list_next(&h->ring, &list, &got, frames))
        check_guest_stack(c, frames, got.count);
    CHECK(c, h->sampler.counts.captured + second.sampler.counts.captured == 2 * TURNS, "%llu + %llu",
          (unsigned long long)h->sampler.counts.captured, (unsigned long long)second.sampler.counts.captured);
    check_counts(c, &h->sampler.counts);
    check_counts(c, &second.sampler.counts);
    end_guest();
    CHECK(c, guest.over, "it stands");
}

/* ---- sessions ---- */

static bool session_new(struct contract *c, char path[TEMPORARY_BYTES], struct strobe_session *out)
{
    struct strobe_config config;
    strobe_config_default(&config);
    config.async_interval_ns = 1000000;
    config.ring_slots = 1 << 14;
    config.stack_nodes = 1 << 12;
    config.threads_max = 64;
    config.names_bytes = 1 << 14;
    temporary_path(path, "contract_netease.%d", (int)getpid());
    return CHECK(c, strobe_session_create(path, &config, NULL, 1, out) == STROBE_OK, "%s", path);
}

static bool has_name(const struct strobe_session *s, const char *name, uint32_t flags)
{
    struct strobe_named_address n;
    for (uint64_t at = 0; strobe_names_next(&s->names, &at, &n);)
        if (n.bytes == strlen(name) && !memcmp(n.text, name, n.bytes) && n.flags == flags)
            return true;
    return false;
}

/* The memory of a method was readable at the capture and holds other data now. A pseudo-method of the runtime is left
 * out of all stacks of a session. */
static void methods_that_have_gone_before_they_are_named_get_a_placeholder(struct contract *c)
{
    static const uint64_t gone[16];
    static const uint64_t pseudo[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct hand *h = hand_new(c, CAPACITY);
    struct strobe_netease_result result;
    struct strobe_netease_capture capture = {.ticks = 1, .tid = workload_tid()};
    uint64_t number, frames[] = {workload_static(c->art.env, "Main", "deep", "(I)V"), (uint64_t)(uintptr_t)gone,
                                 (uint64_t)(uintptr_t)pseudo};
    struct strobe_session s;
    char path[TEMPORARY_BYTES], placeholder[64];
    if (!session_new(c, path, &s))
        return;
    strobe_netease_ring_put(&h->ring, &capture, frames, 3, &number);
    strobe_netease_fill_session(&s, &h->sampler, &result);
    snprintf(placeholder, sizeof placeholder, "unloaded method 0x%llx", (unsigned long long)frames[1]);
    CHECK(c, result.named == 1 && result.stale == 1 && !result.unnamed, "%u named, %u stale", result.named,
          result.stale);
    CHECK(c, has_name(&s, placeholder, STROBE_NAME_STALE) && has_name(&s, "void Main.deep(int)", 0), "%s", placeholder);
    strobe_session_unmap(&s);
    unlink(path);
}

/* Checks that each sample of the guest has the guest's stack, without pseudo-methods. */
static uint32_t check_samples(struct contract *c, const struct strobe_session *s, uint32_t tid)
{
    uint32_t samples = 0;
    for (uint32_t i = 0; i < strobe_ring_slot_count(&s->ring); i++) {
        uint64_t frames[STROBE_STACK_DEPTH_MAX];
        struct strobe_ring_item item;
        uint32_t count = 0;
        if (strobe_ring_look(&s->ring, i, &item) != STROBE_LOOK_RECORD || s->threads[item.record.thread].tid != tid)
            continue;
        strobe_stack_frames(&s->stacks, item.record.stack, frames, STROBE_STACK_DEPTH_MAX, &count);
        CHECK(c, count == DEEP + 1, "%u frames", count);
        check_guest_stack(c, frames, count);
        samples++;
    }
    return samples;
}

/* Waits until the running capture has this many stacks of a thread. */
static void await_captures(uint32_t tid, uint32_t wanted)
{
    const struct strobe_netease_ring *ring = strobe_netease_running()->ring;
    for (uint32_t n = 0; n < wanted; workload_pause(1)) {
        uint64_t frames[STROBE_NETEASE_FRAMES];
        struct strobe_netease_capture capture;
        struct strobe_netease_list list;
        strobe_netease_list_begin(ring, &list);
        for (n = 0; strobe_netease_list_next(ring, &list, &capture, frames);)
            n += capture.tid == tid;
    }
}

static void threads_are_captured_in_their_period_and_named_at_the_end(struct contract *c)
{
    uint32_t tid = start_guest(c);
    struct strobe_netease_options o = {.library = c->art.library_name, .api = c->art.api};
    struct strobe_netease_result result;
    struct strobe_session s;
    struct strobe_error error = {""};
    char path[TEMPORARY_BYTES];
    if (!session_new(c, path, &s))
        return;
    strobe_session_unmap(&s);
    o.session_path = path;
    CHECK(c, strobe_netease_stop(NULL) == STROBE_NO_ENTRY, "none is under way");
    if (!CHECK(c, strobe_netease_start(c->art.vm, &o, &error) == STROBE_OK, "%s", error.text))
        return;
    CHECK(c, strobe_netease_start(c->art.vm, &o, &error) == STROBE_EXISTS, "a second one");
    await_captures(tid, 2); /* so the first period is over, too */
    CHECK(c, strobe_netease_stop(&result) == STROBE_OK, "stop");
    check_counts(c, &result.counts);
    CHECK(c, result.counts.captured && result.named >= 2 && !result.stale, "%llu captures, %u named, %u stale",
          (unsigned long long)result.counts.captured, result.named, result.stale);
    CHECK(c, result.counts.empty, "the case's own thread has no managed frame");
    if (CHECK(c, strobe_session_open(path, &s) == STROBE_OK, "%s", path)) {
        CHECK(c, strobe_load_relaxed(&s.header->state) == STROBE_SESSION_CLOSED, "not closed");
        CHECK(c, check_samples(c, &s, tid) >= 2, "fewer than two samples");
        CHECK(c, has_name(&s, "void Main.deep(int)", 0), "Main.deep has no name");
        strobe_session_unmap(&s);
    }
    CHECK(c, !window_offence(), "%s in the window", window_offence());
    unlink(path);
    end_guest();
}

static void of_more_captures_than_the_ring_holds_the_newest_are_left(struct contract *c)
{
    uint32_t tid = start_guest(c);
    struct strobe_netease_options o = {
        .library = c->art.library_name, .api = c->art.api, .capacity = CAPACITY, .tids = &tid, .tid_count = 1};
    struct strobe_netease_result result;
    struct strobe_session s;
    struct strobe_error error = {""};
    char path[TEMPORARY_BYTES];
    if (!session_new(c, path, &s))
        return;
    strobe_session_unmap(&s);
    o.session_path = path;
    if (!CHECK(c, strobe_netease_start(c->art.vm, &o, &error) == STROBE_OK, "%s", error.text))
        return;
    while (strobe_netease_ring_drawn(strobe_netease_running()->ring) <= CAPACITY)
        workload_pause(1);
    CHECK(c, strobe_netease_stop(&result) == STROBE_OK, "stop");
    CHECK(c, result.counts.captured == result.counts.wishes, "threads that were not asked for");
    CHECK(c, result.overwritten == result.counts.captured - CAPACITY, "%llu of %llu",
          (unsigned long long)result.overwritten, (unsigned long long)result.counts.captured);
    if (CHECK(c, strobe_session_open(path, &s) == STROBE_OK, "%s", path)) {
        uint32_t samples = check_samples(c, &s, tid);
        CHECK(c, samples == CAPACITY, "%u samples", samples);
        strobe_session_unmap(&s);
    }
    unlink(path);
    end_guest();
}

/* ---- starts that are refused ---- */

static bool session_with_period(struct contract *c, uint64_t period_ns, char path[TEMPORARY_BYTES])
{
    struct strobe_config config;
    struct strobe_session s;
    strobe_config_default(&config);
    config.async_interval_ns = period_ns;
    temporary_path(path, "contract_netease.%d", (int)getpid());
    if (!CHECK(c, strobe_session_create(path, &config, NULL, 1, &s) == STROBE_OK, "%s", path))
        return false;
    strobe_session_unmap(&s);
    return true;
}

static void refuse_start(struct contract *c, const struct strobe_netease_options *o, enum strobe_status expected,
                         const char *text)
{
    struct strobe_error error = {""};
    enum strobe_status status = strobe_netease_start(c->art.vm, o, &error);
    CHECK(c, status == expected && strstr(error.text, text), "%s: %s, not %s", strobe_status_text(status), error.text,
          text);
    CHECK(c, strobe_netease_stop(NULL) == STROBE_NO_ENTRY && !strobe_netease_running(), "a capture runs: %s", text);
}

struct unattached {
    struct contract *c;
    const struct strobe_netease_options *options;
};

static void *start_unattached(void *unattached)
{
    struct unattached *u = unattached;
    refuse_start(u->c, u->options, STROBE_UNSUPPORTED, "not attached");
    return NULL;
}

static void a_start_that_cannot_capture_says_why_and_the_next_one_begins(struct contract *c)
{
    static const uint32_t tids[STROBE_NETEASE_THREADS + 1];
    char path[TEMPORARY_BYTES], missing[TEMPORARY_BYTES + 8];
    pthread_t thread;
    if (!session_with_period(c, 0, path))
        return;
    struct strobe_netease_options o = {.library = c->art.library_name, .api = c->art.api, .session_path = path};
    refuse_start(c, &o, STROBE_BAD_INPUT, "no period");
    unlink(path);
    if (!session_with_period(c, 1000000, path))
        return;
    o.tids = tids;
    o.tid_count = STROBE_NETEASE_THREADS + 1;
    refuse_start(c, &o, STROBE_BAD_INPUT, "more threads");
    o.tids = NULL;
    o.capacity = UINT32_MAX;
    refuse_start(c, &o, STROBE_IO, "memory for the ring");
    o.capacity = 0;
    o.library = "libnowhere.so";
    refuse_start(c, &o, STROBE_NO_ENTRY, "libnowhere.so");
    o.library = c->art.library_name;
    snprintf(missing, sizeof missing, "%s.missing", path);
    o.session_path = missing;
    refuse_start(c, &o, STROBE_IO, missing);
    o.session_path = path;
    pthread_create(&thread, NULL, start_unattached, &(struct unattached){c, &o});
    pthread_join(thread, NULL);
    struct strobe_error error = {""};
    if (CHECK(c, strobe_netease_start(c->art.vm, &o, &error) == STROBE_OK, "%s", error.text))
        CHECK(c, strobe_netease_stop(NULL) == STROBE_OK, "stop");
    unlink(path);
}

/* The n-th call of a kind fails, until a start meets no fault: each of the first calls, then ever fewer. */
static void a_start_that_meets_a_fault_ends_its_threads_or_begins_a_capture(struct contract *c)
{
    char path[TEMPORARY_BYTES];
    for (uint32_t i = 0; fault_kinds[i]; i++) {
        const char *fault = "";
        for (uint64_t n = 1; fault && n < 1000 && !c->failures; n += 1 + n / 8) {
            struct strobe_error error = {""};
            if (!session_with_period(c, 1000000, path))
                return;
            struct strobe_netease_options o = {.library = c->art.library_name, .api = c->art.api, .session_path = path};
            fault_arm(fault_kinds[i], n);
            enum strobe_status status = strobe_netease_start(c->art.vm, &o, &error);
            fault = fault_disarm();
            if (status == STROBE_OK)
                CHECK(c, strobe_netease_stop(NULL) == STROBE_OK, "%s %d: stop", fault_kinds[i], (int)n);
            else
                CHECK(c, fault && error.text[0] && !strobe_netease_running(), "%s %d (%s): %s: %s", fault_kinds[i],
                      (int)n, fault ? fault : "none", strobe_status_text(status), error.text);
            unlink(path);
        }
        CHECK(c, !fault, "%s: no start without a fault", fault_kinds[i]);
    }
}

/* A session without room keeps what fits, and counts the rest. */
static void a_session_that_is_full_counts_what_it_leaves_out(struct contract *c)
{
    struct strobe_config config;
    struct strobe_session s;
    struct strobe_netease_result result;
    struct hand *h = hand_new(c, 2048);
    uint64_t number, frames[2] = {workload_static(c->art.env, "Main", "deep", "(I)V"), 0};
    char path[TEMPORARY_BYTES];
    frames[1] = frames[0];
    strobe_config_default(&config);
    config.ring_slots = 64;
    config.ring_subs = 1;
    config.ring_mode = STROBE_KEEP_OLDEST;
    config.threads_max = 2;
    temporary_path(path, "contract_netease.%d", (int)getpid());
    if (!CHECK(c, strobe_session_create(path, &config, NULL, 1, &s) == STROBE_OK, "%s", path))
        return;
    for (uint32_t i = 0; i < 300; i++) {
        struct strobe_netease_capture capture = {.ticks = 1 + i, .tid = i < 3 ? 100 + i : 101};
        strobe_netease_ring_put(&h->ring, &capture, frames, i == 5 ? 0 : 2, &number);
    }
    strobe_netease_fill_session(&s, &h->sampler, &result);
    uint64_t sampled = 0, dropped = 0, failed = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&s); i++) {
        struct strobe_account *a = &s.threads[i].account[STROBE_KIND_ASYNC];
        sampled += strobe_load_relaxed(&a->sampled);
        dropped += strobe_load_relaxed(&a->dropped);
        failed += strobe_load_relaxed(&a->unwind_failed);
    }
    uint64_t untracked = strobe_load_relaxed(&s.header->events_untracked);
    CHECK(c, untracked == 1 && failed == 1 && sampled == 64 && sampled + dropped == 298,
          "%d of a third thread, %d empty, %d sampled, %d dropped", (int)untracked, (int)failed, (int)sampled,
          (int)dropped);
    strobe_session_unmap(&s);
    unlink(path);
}

const struct contract_case contract_cases_netease[] = {
    {"captures_are_kept_newest_first_and_the_overwritten_are_counted",
     captures_are_kept_newest_first_and_the_overwritten_are_counted, 0},
    {"threads_that_are_not_there_are_neither_captured_nor_resumed",
     threads_that_are_not_there_are_neither_captured_nor_resumed, 0},
    {"a_thread_that_did_not_stop_is_not_resumed", a_thread_that_did_not_stop_is_not_resumed, 0},
    {"a_pointer_that_leads_nowhere_costs_the_whole_capture", a_pointer_that_leads_nowhere_costs_the_whole_capture, 0},
    {"what_was_walked_of_a_thread_that_the_watchdog_let_go_is_thrown_away",
     what_was_walked_of_a_thread_that_the_watchdog_let_go_is_thrown_away, 0},
    {"two_who_capture_one_thread_at_once_leave_it_running", two_who_capture_one_thread_at_once_leave_it_running, 0},
    {"methods_that_have_gone_before_they_are_named_get_a_placeholder",
     methods_that_have_gone_before_they_are_named_get_a_placeholder, 0},
    {"threads_are_captured_in_their_period_and_named_at_the_end",
     threads_are_captured_in_their_period_and_named_at_the_end, 0},
    {"of_more_captures_than_the_ring_holds_the_newest_are_left",
     of_more_captures_than_the_ring_holds_the_newest_are_left, 0},
    {"a_start_that_cannot_capture_says_why_and_the_next_one_begins",
     a_start_that_cannot_capture_says_why_and_the_next_one_begins, 0},
    {"a_start_that_meets_a_fault_ends_its_threads_or_begins_a_capture",
     a_start_that_meets_a_fault_ends_its_threads_or_begins_a_capture, CONTRACT_FAKE},
    {"a_session_that_is_full_counts_what_it_leaves_out", a_session_that_is_full_counts_what_it_leaves_out, 0},
    {0},
};
