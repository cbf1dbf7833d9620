/* Measures the Mach backend on the fake Mach over real threads: a suspended window compared with bare thread_suspend
 * and thread_resume, and a pass of the sampler compared with its thread_info calls.
 *
 *     strobe-bench-mach [-r REPETITIONS] [-o JSON]
 *
 * The fake's calls are system calls of this machine, and XNU's have other costs, so the cost of these calls is shown
 * beside each figure. The exit status is 0 even when a target is missed, because other load on the machine can be the
 * cause. */
#include "bench/bench.h"
#include "bench/deep.h"

#include "engine/backend/mach/host_mach.h"
#include "engine/capture/sampler.h"
#include "sim/fake/mach/fake.h"

#include <pthread_np.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    FRAMES = 40,
    DEPTH = FRAMES - 4, /* without the pc, the caller of the deep functions, and the thread's frames */
    TURNS = 400,
    TIMEOUT_NS = 100000000,
    THREADS = 200,
    ACTIVE = 5,
    PASSES = 50,
};

enum { STARTS, WAITS, COMPUTES, ENDS };

struct thread {
    pthread_t thread;
    uint32_t tid;
    mach_port_t port;
    struct strobe_stack_bounds stack;
    struct strobe_thread *traced;
    int depth;
    strobe_a32 does, asked;
    sem_t woken;
};

static struct strobe_mach_threads *table;
static struct strobe_mach_host mach;
static struct strobe_engine engine;
static struct thread threads[THREADS];
static bool traced;

/* ---- threads */

static void stay(const struct deep_place *place, void *arg)
{
    struct thread *t = arg;
    (void)place;
    for (uint32_t asked; (asked = strobe_load_acquire(&t->asked)) != ENDS;) {
        if (asked == WAITS)
            fake_mach_in_kernel(true, true);
        strobe_store_release(&t->does, asked);
        while (strobe_load_relaxed(&t->asked) == asked)
            if (asked == WAITS)
                sem_wait(&t->woken);
        if (asked == WAITS)
            fake_mach_in_kernel(false, false);
    }
}

static void *run(void *arg)
{
    struct thread *t = arg;
    uint64_t id;
    pthread_threadid_np(0, &id);
    t->tid = strobe_mach_tid(id);
    t->port = pthread_mach_thread_np(pthread_self());
    t->stack.high = (uint64_t)(uintptr_t)pthread_get_stackaddr_np(pthread_self());
    t->stack.low = t->stack.high - pthread_get_stacksize_np(pthread_self());
    t->stack.root_frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    strobe_mach_threads_put(table, t->tid, mach_thread_self());
    if (traced)
        t->traced = strobe_thread_attach(&engine, t->tid, t == threads, "bench", &t->stack);
    deep_call(t->depth, stay, t);
    strobe_mach_threads_drop(table, t->tid);
    return NULL;
}

static void have_it(struct thread *t, uint32_t does)
{
    strobe_store_release(&t->asked, does);
    sem_post(&t->woken);
    while (strobe_load_acquire(&t->does) != does)
        usleep(100);
}

static void begin(struct thread *t, int depth, uint32_t does)
{
    *t = (struct thread){.depth = depth, .asked = does};
    sem_init(&t->woken, 0, 0);
    if (pthread_create(&t->thread, NULL, run, t))
        abort();
    have_it(t, does);
}

static void end(struct thread *t)
{
    strobe_store_release(&t->asked, ENDS);
    sem_post(&t->woken);
    pthread_join(t->thread, NULL);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, size_t count)
{
    qsort(of, count, sizeof *of, by_size);
    return of[count / 2];
}

/* ---- one window */

static double pair_us(const struct thread *t)
{
    uint64_t from = bench_now_ns();
    if (thread_suspend(t->port) != KERN_SUCCESS || thread_resume(t->port) != KERN_SUCCESS)
        abort();
    return (double)(bench_now_ns() - from) / 1e3;
}

/* Measures one window. Returns a value below 0 when the thread did not stop in time. */
static double window_us(const struct thread *t, uint32_t *count)
{
    static const strobe_a32 never;
    static uint64_t frames[STROBE_STACK_DEPTH_MAX];
    static struct strobe_stack_top top;
    const struct strobe_host *h = &mach.host;
    struct strobe_regs regs;
    uint64_t from = bench_now_ns();
    enum strobe_status stopped = h->suspend(h->ctx, t->tid, &never, TIMEOUT_NS, &regs);
    if (stopped == STROBE_OK) {
        struct strobe_window stack = {regs.sp & ~(uint64_t)7, t->stack.high, 0, t->stack.root_frame};
        strobe_unwinder_mach.stopped(h, &regs, &stack, &top, frames + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX,
                                     count);
        if (h->resume(h->ctx, t->tid) != STROBE_OK)
            abort();
    }
    bench_keep(frames);
    return stopped == STROBE_OK ? (double)(bench_now_ns() - from) / 1e3 : -1;
}

struct window {
    double pair, whole, calls;
};

static struct window measure_window(struct thread *t, int repetitions)
{
    enum { MOST = 100 * TURNS };
    static double pair[MOST], whole[MOST], calls[MOST];
    size_t n = 0, most = (size_t)repetitions * TURNS < MOST ? (size_t)repetitions * TURNS : MOST;
    uint32_t count = 0;
    while (n < most) {
        pair[n] = pair_us(t);
        uint64_t before = fake_mach_calls(NULL);
        whole[n] = window_us(t, &count);
        calls[n] = (double)(fake_mach_calls(NULL) - before);
        n += whole[n] >= 0;
    }
    if (count != FRAMES) {
        fprintf(stderr, "bench: a stack of %u frames, %d expected\n", count, FRAMES);
        exit(2);
    }
    return (struct window){median(pair, n), median(whole, n), median(calls, n)};
}

static void window_rows(int repetitions)
{
    static struct thread target;
    begin(&target, DEPTH, WAITS);
    struct window waits = measure_window(&target, repetitions);
    have_it(&target, COMPUTES);
    struct window computes = measure_window(&target, repetitions);
    end(&target);
    bench_row_note("suspend, resume: a thread that waits", "us", waits.pair);
    bench_row_most("its window, 40 frames walked, beyond that", "us", waits.whole - waits.pair, 2.5);
    bench_row_most("calls of the system in it: suspend, info, state, resume", "calls", waits.calls, 4);
    bench_row_note("suspend, resume: a thread that computes", "us", computes.pair);
    bench_row_most("its window, 40 frames walked, beyond that", "us", computes.whole - computes.pair, 2.5);
}

/* ---- a pass */

static enum strobe_status (*real_suspend)(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                          struct strobe_regs *out);
static enum strobe_status (*real_resume)(void *ctx, uint32_t tid);
static enum strobe_status (*real_read)(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied);
static uint64_t stop_began, stopped_ns, stops, read_ns;

static enum strobe_status suspend_timed(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out)
{
    stop_began = bench_cpu_ns();
    stops++;
    enum strobe_status status = real_suspend(ctx, tid, blocked, timeout_ns, out);
    if (status != STROBE_OK)
        stopped_ns += bench_cpu_ns() - stop_began;
    return status;
}

static enum strobe_status resume_timed(void *ctx, uint32_t tid)
{
    enum strobe_status status = real_resume(ctx, tid);
    stopped_ns += bench_cpu_ns() - stop_began;
    return status;
}

static enum strobe_status read_timed(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    uint64_t from = bench_cpu_ns();
    enum strobe_status status = real_read(ctx, address, out, bytes, copied);
    read_ns += bench_cpu_ns() - from;
    return status;
}

static void make_engine(void)
{
    static strobe_a32 on = STROBE_ON;
    struct strobe_session session;
    struct strobe_config c;
    strobe_config_default(&c);
    c.metrics = 0;
    c.ring_slots = 1 << 12;
    c.stack_nodes = 1 << 14;
    c.threads_max = 2 * THREADS;
    if (strobe_session_create_at(bench_pages(strobe_session_file_bytes(&c)), &c, "bench", &session) != STROBE_OK)
        exit(2);
    real_suspend = mach.host.suspend;
    real_resume = mach.host.resume;
    mach.host.suspend = suspend_timed;
    mach.host.resume = resume_timed;
    real_read = mach.host.read;
    mach.host.read = read_timed;
    strobe_engine_init(&engine, &session, &mach.host, &strobe_unwinder_mach,
                       bench_pages(strobe_engine_memory_bytes(&c)));
    strobe_switch = &on;
    traced = true;
}

struct pass {
    double own, reads, infos, stops;
};

/* Returns the CPU time of the median pass, without the time in which threads are suspended or being stopped. */
static struct pass measure_passes(struct strobe_sampler *s, size_t passes)
{
    static double own[100 * PASSES], reads[100 * PASSES];
    uint64_t infos = fake_mach_calls("thread_info"), stops_before = stops;
    for (size_t i = 0; i < passes; i++) {
        usleep(2500); /* longer than both intervals */
        stopped_ns = read_ns = 0;
        uint64_t from = bench_cpu_ns();
        strobe_sampler_pass(s, mach.host.ticks(mach.host.ctx));
        own[i] = (double)(bench_cpu_ns() - from - stopped_ns) / 1e3;
        reads[i] = (double)read_ns / 1e3;
    }
    double n = (double)passes;
    return (struct pass){median(own, passes), median(reads, passes),
                         (double)(fake_mach_calls("thread_info") - infos) / n, (double)(stops - stops_before) / n};
}

/* Returns the CPU time of one thread_info call for each of the first threads. */
static double infos_us(size_t rounds, int threads_asked)
{
    static double took[100 * PASSES];
    for (size_t i = 0; i < rounds; i++) {
        uint64_t from = bench_cpu_ns();
        for (int k = 0; k < threads_asked; k++) {
            thread_basic_info_data_t info;
            mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
            if (thread_info(threads[k].port, THREAD_BASIC_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS)
                abort();
        }
        took[i] = (double)(bench_cpu_ns() - from) / 1e3;
    }
    return median(took, rounds);
}

static void pass_rows(int repetitions)
{
    struct strobe_sampler *s = bench_pages(sizeof *s);
    size_t passes = (size_t)(repetitions < 100 ? repetitions : 100) * PASSES;
    make_engine();
    for (int i = 0; i < THREADS; i++)
        begin(&threads[i], 20, i < ACTIVE ? COMPUTES : WAITS);
    strobe_sampler_init(s, &engine, 1);
    struct pass idle = measure_passes(s, passes);
    double all = infos_us(passes, THREADS), active = infos_us(passes, ACTIVE);
    for (int i = ACTIVE; i < THREADS; i++) {
        strobe_store_relaxed(&threads[i].traced->entry->scope_begin_ticks, 1);
        strobe_store_relaxed(&threads[i].traced->entry->scope_kind, STROBE_KIND_POLL);
    }
    struct pass hooked = measure_passes(s, passes);
    for (int i = 0; i < THREADS; i++)
        end(&threads[i]);
    bench_row_note("thread_info of 200 threads, once each", "us", all);
    bench_row_note("  of the 5 that compute", "us", active);
    bench_row_note("pass over 200 threads, 5 compute, less its stops", "us", idle.own);
    bench_row_note("  thread_info calls in it", "calls", idle.infos);
    bench_row_note("  stops in it", "stops", idle.stops);
    bench_row_note("  reads of code in it, after stops", "us", idle.reads);
    bench_row_most("  beyond these calls: the engine's own", "us", idle.own - idle.reads - all - active, 200);
    bench_row_most("the same where the others wait in a hook", "us", hooked.own, 200);
    bench_row_most("  beyond these calls: the engine's own", "us", hooked.own - hooked.reads - 2 * active, 200);
}

/* ---- all benches */

int main(int argc, char **argv)
{
    const char *json = "bench-mach.json";
    int repetitions = 9, option;
    while ((option = getopt(argc, argv, "r:o:")) != -1)
        switch (option) {
        case 'r': repetitions = atoi(optarg); break;
        case 'o': json = optarg; break;
        default: fprintf(stderr, "usage: strobe-bench-mach [-r REPETITIONS] [-o JSON]\n"); return 2;
        }
    if (repetitions < 1)
        repetitions = 1;
    printf("fake Mach\n");
    table = bench_pages(sizeof *table);
    strobe_mach_host_init(&mach, table);
    window_rows(repetitions);
    pass_rows(repetitions);
    int missed = bench_table(json);
    if (missed > 0)
        printf("%d of the targets MISSED\n", missed);
    return missed < 0 ? 2 : 0;
}
