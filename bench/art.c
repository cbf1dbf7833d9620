/* Measures the Android backend on a genuine runtime, Debian's Android 11.
 *
 *     strobe-bench-art [-r REPETITIONS] [-o JSON] [interpreted|quick|fake30]
 *
 * With fake30, only the start and the end of captures are measured, in the fake of Android 11.
 *
 * When the runtime is not installed, the program prints that and measures nothing. The exit status is 0 even when a
 * target is missed, because other load on the machine can be the cause. */
#include "bench/bench.h"
#include "engine/base/error.h"

#include "engine/backend/art/app.h"
#include "engine/backend/art/hooks/events.h"
#include "engine/base/hint.h"
#include "engine/capture/thread.h"
#include "sim/genuine/jni_calls.h"
#include "sim/genuine/runtime.h"
#include "tests/support/temporary.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 30, MANAGED = 20, BATCH = 100, OBJECTS_A_ROUND = 2, ROUNDS = 20000 };

static struct sim_art art;
static struct strobe_libart libart;
static strobe_jclass main_class;
static const char *session_path;

/* ---- walks, from the innermost of FRAMES managed frames */

/* The minimum cost for each tracer: the runtime's walk, and its function that returns each frame's method. */
struct bare {
    void *const *vtable;
    char opaque[STROBE_ART_VISITOR_BYTES];
    uint32_t count;
    void *method[256];
};
static void *(*get_method)(const void *);

static bool keep_frame(void *visitor)
{
    struct bare *b = visitor;
    b->method[b->count++ & 255] = get_method(b);
    return true;
}

static void stays(void *visitor)
{
    (void)visitor;
}

static void *const bare_vtable[] = {NULL, NULL, (void *)stays, (void *)stays, (void *)keep_frame};

static void walk_bare(void *thread)
{
    static struct bare b;
    void (*init)(void *, void *, void *, int, int) =
        (void (*)(void *, void *, void *, int, int))(uintptr_t)libart.address[STROBE_ART_VISITOR_INIT];
    void (*walk)(void *, int) = (void (*)(void *, int))(uintptr_t)libart.address[STROBE_ART_VISITOR_WALK];
    init(&b, thread, NULL, 0, 0);
    b.vtable = bare_vtable + 2;
    b.count = 0;
    walk(&b, 0);
    bench_keep(&b);
}

static void walk_ours(void *thread)
{
    static struct strobe_art_walk w;
    static uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    strobe_art_walk(&w, &libart, thread, frames + STROBE_STACK_DEPTH_MAX, NULL, STROBE_STACK_DEPTH_MAX, &count);
    if (count < MANAGED)
        abort();
    bench_keep(frames);
}

/* ---- whole stacks: NATIVE frames of this program inside the managed ones */

enum { NATIVE = 20, NATIVE_MORE = 100 };

static struct strobe_art_frames whole_frames, by_pointer; /* the second walks by frame pointers only */
static struct strobe_linux here;
static struct strobe_window whole_stack;
static struct strobe_art_walk whole_walk;

static void walk_whole(void *thread)
{
    static uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window stack = {frame, whole_stack.high, 0, 0};
    uint32_t count;
    strobe_art_walk_whole(&whole_frames, &whole_walk, &libart, thread, frame, &stack, frames + STROBE_STACK_DEPTH_MAX,
                          STROBE_STACK_DEPTH_MAX, &count);
    if (count < NATIVE)
        abort();
    bench_keep(frames);
}

/* Walks the native frames alone, from this function on. The managed frames, between which they are found, are those
 * that `sample` has found. */
static void walk_native_by(struct strobe_art_frames *f)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_regs regs = {.pc = (uint64_t)(uintptr_t)__builtin_return_address(0), .sp = frame + 16};
    struct strobe_window stack = {frame, whole_stack.high, 0, 0};
    memcpy(&regs.fp, (const void *)(uintptr_t)frame, sizeof(uintptr_t));
    whole_walk.found.native_count = whole_walk.found.native_kept = 0;
    strobe_art_walk_native(f, &here.host, &whole_walk, &regs, &stack);
    bench_keep(&whole_walk);
}

static void walk_by_pointer(void *thread)
{
    (void)thread;
    walk_native_by(&by_pointer);
}

static void walk_by_tables(void *thread)
{
    (void)thread;
    walk_native_by(&whole_frames);
}

static void prepare_whole_stacks(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    whole_stack = (struct strobe_window){(uint64_t)(uintptr_t)low, (uint64_t)(uintptr_t)low + bytes, 0, 0};
    strobe_linux_init(&here, clock_gettime);
    if (!strobe_art_frames_update(&whole_frames, &here.host, libart.address[STROBE_ART_VISITOR_WALK]))
        exit(2);
    whole_frames.on = true;
    by_pointer = whole_frames;
    by_pointer.index = NULL;
}

static void take_sample(void *thread)
{
    struct strobe_site site = {(uint64_t)(uintptr_t)__builtin_frame_address(0), 0};
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    (void)thread;
    if (!t)
        abort();
    strobe_point_called(t, strobe_switched(), STROBE_KIND_JNI, 0, site);
}

/* The stack table of the session has a stack of all frames. (Hooks of the runtime record shorter ones after it.) */
static void check_depth(void)
{
    const struct strobe_stack_table *stacks = &strobe_art.engine.session.stacks;
    uint32_t depth = 0;
    for (uint32_t id = 1; id <= strobe_stack_node_count(stacks); id++) {
        const struct strobe_stack_node *node = strobe_stack_node_of(stacks, id);
        if (node && node->depth > depth)
            depth = node->depth;
    }
    if (depth < FRAMES)
        abort();
}

static struct gbench_state *measured;
static void (*work)(void *thread);

static int native_calls; /* native functions between Main.sample and the measured work */

static STROBE_NOINLINE void nest(void *thread, int more)
{
    if (more > 0)
        nest(thread, more - 1);
    else
        while (gbench_loop(measured))
            for (int i = 0; i < BATCH; i++)
                work(thread);
    bench_keep(&more);
}

/* The native method Main.sample, which the innermost call of Main.deep calls. */
static void sample(struct strobe_jni *env, strobe_jclass class, int32_t unused)
{
    (void)env, (void)class, (void)unused;
    strobe_art_walk_managed(&whole_walk, &libart, strobe_art_current(&libart));
    nest(strobe_art_current(&libart), native_calls);
}

static void call(const char *name, int32_t argument)
{
    strobe_jmethod method = strobe_jni_static_method(art.env, main_class, name, "(I)V");
    union strobe_jvalue value = {.i = argument};
    sim_jni_call_static(art.env, main_class, method, &value);
}

static void at_depth_of(struct gbench_state *s, const void *arg, int32_t managed)
{
    measured = s;
    work = *(void (*const *)(void *))arg;
    call("deep", managed - 2);
}

static void at_depth(struct gbench_state *s, const void *arg)
{
    at_depth_of(s, arg, FRAMES);
}

static void at_native_depth(struct gbench_state *s, const void *arg)
{
    native_calls = NATIVE;
    at_depth_of(s, arg, MANAGED);
    native_calls = 0;
}

static void at_more_native_depth(struct gbench_state *s, const void *arg)
{
    native_calls = NATIVE + NATIVE_MORE;
    at_depth_of(s, arg, MANAGED);
    native_calls = 0;
}

/* ---- captures */

static void begin_with(const struct strobe_config *c, bool managed_only)
{
    struct strobe_session s;
    struct strobe_art_options o = {
        .session_path = session_path, .library = art.library_name, .api = art.api, .managed_only = managed_only};
    struct strobe_error error;
    if (strobe_session_create(session_path, c, "bench", 1, &s) != STROBE_OK)
        exit(2);
    strobe_session_unmap(&s);
    if (strobe_art_start(art.vm, &o, NULL, &error) != STROBE_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
}

/* Begins a capture. `interval_ns` is the gate's interval. `managed_only`: without native frames. There is no sampler,
 * and no metrics are read. */
static void begin(uint64_t interval_ns, bool managed_only)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.interval_main_ns = c.interval_other_ns = interval_ns;
    c.async_interval_ns = 0;
    c.metrics = 0;
    c.ring_slots = 1 << 12;
    c.names_bytes = STROBE_NAMES_BYTES_MIN;
    begin_with(&c, managed_only);
}

/* Returns the CPU ns of one allocation. */
static double allocation_ns(void)
{
    uint64_t from = bench_cpu_ns();
    call("alloc", ROUNDS);
    return (double)(bench_cpu_ns() - from) / (ROUNDS * OBJECTS_A_ROUND);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, int count)
{
    qsort(of, (size_t)count, sizeof *of, by_size);
    return of[count / 2];
}

/* Measures allocations in turn with the clock, because the gate must read it. The last row is the cost that the hook
 * adds to an allocation. */
static void allocation_rows(int repetitions)
{
    enum { MOST = 99 };
    double alone[MOST], hooked[MOST], clock[MOST];
    int n = repetitions < MOST ? repetitions : MOST;
    for (int i = 0; i < n; i++) {
        allocation_ns();
        alone[i] = allocation_ns();
        begin(1000000000, false);
        allocation_ns();
        hooked[i] = allocation_ns();
        strobe_art_stop();
        uint64_t from = bench_cpu_ns();
        for (int k = 0; k < ROUNDS; k++) {
            uint64_t now = bench_now_ns();
            bench_keep(&now);
        }
        clock[i] = (double)(bench_cpu_ns() - from) / ROUNDS;
    }
    double plain = median(alone, n), more = median(hooked, n) - plain;
    bench_row_note("an allocation, nothing hooked", "ns", plain);
    bench_row_ratio("what the hook adds, turned away by the gate", "ns", more, "clock read", median(clock, n), 1.5);
}

/* ---- stops by the runtime, of a thread in native code */

enum { STOPS = 1000 };

struct stops {
    uint32_t tid; /* of the thread to stop */
    strobe_a32 over;
    double read[STOPS], suspend[STOPS], resume[STOPS]; /* CPU ns of the stopping thread; read: of a clock read */
};

static void stop_and_resume(struct stops *s)
{
    static const strobe_a32 undisturbed;
    const struct strobe_host *h = &strobe_art.host.linux.host;
    struct strobe_regs regs;
    for (int i = 0; i < STOPS; i++) {
        uint64_t before = bench_cpu_ns(), begin = bench_cpu_ns();
        if (h->suspend(h->ctx, s->tid, &undisturbed, UINT64_MAX, &regs) != STROBE_OK)
            abort();
        uint64_t stopped = bench_cpu_ns();
        h->resume(h->ctx, s->tid);
        s->resume[i] = (double)(bench_cpu_ns() - stopped);
        s->suspend[i] = (double)(stopped - begin);
        s->read[i] = (double)(begin - before);
    }
}

static struct strobe_jni *attach_as_daemon(const char *name)
{
    struct strobe_jni *env;
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, name, NULL};
    int32_t (*attach)(struct strobe_jvm *, struct strobe_jni **, void *) =
        (int32_t(*)(struct strobe_jvm *, struct strobe_jni **, void *))(uintptr_t)strobe_jvm_at(
            art.vm, STROBE_JVM_ATTACH_AS_DAEMON);
    if (attach(art.vm, &env, &how) != STROBE_JNI_OK)
        abort();
    return env;
}

static void detach(void)
{
    ((int32_t(*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(art.vm, STROBE_JVM_DETACH))(art.vm);
}

static void *run_stopper(void *arg)
{
    struct stops *s = arg;
    strobe_local.busy = 1;
    attach_as_daemon("stopper");
    stop_and_resume(s);
    strobe_store_release(&s->over, 1);
    detach();
    return NULL;
}

static void stop_rows(void)
{
    static struct stops s;
    pthread_t stopper;
    s.tid = (uint32_t)gettid();
    begin(1000000000, true);
    if (pthread_create(&stopper, NULL, run_stopper, &s))
        abort();
    while (!strobe_load_acquire(&s.over))
        continue;
    pthread_join(stopper, NULL);
    strobe_art_stop();
    double read = median(s.read, STOPS);
    bench_row_note("a thread in native code suspended by the runtime", "ns", median(s.suspend, STOPS) - read);
    bench_row_note("and resumed", "ns", median(s.resume, STOPS) - read);
}

/* ---- a capture beside many threads */

enum { BESIDE = 200, CAPTURES = 21, CAPTURED_NS = 200 * 1000 * 1000 };

/* How often a thread beside wakes up. All wait at one monitor: those that wake up often keep both processors of a small
 * machine busy, so that the capturing thread also waits for a processor. */
enum { SELDOM_MS = 1000, OFTEN_MS = 20 };

static strobe_a32 beside_over;

/* Waits in a managed method, and wakes up from time to time, as threads with timers do. */
static void *stand_beside(void *wake_ms)
{
    struct strobe_jni *env = attach_as_daemon("beside");
    strobe_jclass class = strobe_jni_find_class(env, "Main");
    strobe_jmethod wait = strobe_jni_static_method(env, class, "waitMs", "(J)V");
    while (!strobe_load_acquire(&beside_over))
        sim_jni_call_static(env, class, wait, &(union strobe_jvalue){.j = *(const int *)wake_ms});
    detach();
    return NULL;
}

static double elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - since->tv_sec) * 1e3 + (double)(now.tv_nsec - since->tv_nsec) / 1e6;
}

/* Begins a capture as an app does: with the sampler and all metrics. */
static void begin_usual(void)
{
    enum { NAMES_BYTES = 4 << 20 };
    struct strobe_config c;
    strobe_config_default(&c);
    c.names_bytes = NAMES_BYTES;
    begin_with(&c, false);
}

/* Methods are named while the capture runs, so that its end names none. */
static void capture_rows_beside(int wake_ms)
{
    static double start[CAPTURES], start_cpu[CAPTURES], naming[CAPTURES], stop[CAPTURES], stop_cpu[CAPTURES];
    pthread_t thread[BESIDE];
    struct timespec since;
    strobe_store_release(&beside_over, 0);
    for (int i = 0; i < BESIDE; i++)
        if (pthread_create(&thread[i], NULL, stand_beside, &wake_ms))
            abort();
    for (int i = 0; i < CAPTURES; i++) {
        clock_gettime(CLOCK_MONOTONIC, &since);
        uint64_t cpu = bench_cpu_ns();
        begin_usual();
        start[i] = elapsed_ms(&since);
        start_cpu[i] = (double)(bench_cpu_ns() - cpu) / 1e6;
        nanosleep(&(struct timespec){0, CAPTURED_NS}, NULL);
        clock_gettime(CLOCK_MONOTONIC, &since);
        strobe_art_name_running();
        naming[i] = elapsed_ms(&since);
        clock_gettime(CLOCK_MONOTONIC, &since);
        cpu = bench_cpu_ns();
        strobe_art_stop();
        stop[i] = elapsed_ms(&since);
        stop_cpu[i] = (double)(bench_cpu_ns() - cpu) / 1e6;
    }
    strobe_store_release(&beside_over, 1);
    for (int i = 0; i < BESIDE; i++)
        pthread_join(thread[i], NULL);
    if (wake_ms == SELDOM_MS)
        bench_row_most("capture started beside 200 waiting threads", "ms", median(start, CAPTURES), 20);
    else
        bench_row_note("capture started beside 200 busy threads", "ms", median(start, CAPTURES));
    bench_row_note("  the first one", "ms", start[0]);
    bench_row_note("  CPU time of the thread that starts it", "ms", median(start_cpu, CAPTURES));
    bench_row_note("  its methods named", "ms", median(naming, CAPTURES));
    if (wake_ms == SELDOM_MS)
        bench_row_most("  and stopped, without naming", "ms", median(stop, CAPTURES), 50);
    else
        bench_row_note("  and stopped, without naming", "ms", median(stop, CAPTURES));
    bench_row_note("  CPU time of the thread that stops it", "ms", median(stop_cpu, CAPTURES));
}

static void capture_rows(void)
{
    capture_rows_beside(SELDOM_MS);
    capture_rows_beside(OFTEN_MS);
}

/* ---- all benches */

static void (*const bare)(void *) = walk_bare;
static void (*const ours)(void *) = walk_ours;
static void (*const whole)(void *) = take_sample;

static void (*const mixed)(void *) = walk_whole;
static void (*const by_pointers)(void *) = walk_by_pointer;
static void (*const by_table)(void *) = walk_by_tables;

static void whole_stack_rows(int repetitions)
{
    static const struct gbench_spec specs[] = {
        {.name = "whole/managed", .run = at_native_depth, .arg = &ours, .batch = BATCH},
        {.name = "whole/mixed", .run = at_native_depth, .arg = &mixed, .batch = BATCH},
        {.name = "whole/pointers", .run = at_native_depth, .arg = &by_pointers, .batch = BATCH},
        {.name = "whole/pointers_more", .run = at_more_native_depth, .arg = &by_pointers, .batch = BATCH},
        {.name = "whole/tables", .run = at_native_depth, .arg = &by_table, .batch = BATCH},
        {.name = "whole/tables_more", .run = at_more_native_depth, .arg = &by_table, .batch = BATCH},
    };
    prepare_whole_stacks();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        gbench_add(&specs[i]);
    gbench_run("whole/.*", repetitions, 0.05);
    bench_row_most("a native frame by frame pointer", "ns",
                   (gbench_median_ns("whole/pointers_more") - gbench_median_ns("whole/pointers")) / NATIVE_MORE, 3);
    bench_row_most("a native frame by tables", "ns",
                   (gbench_median_ns("whole/tables_more") - gbench_median_ns("whole/tables")) / NATIVE_MORE, 40);
    bench_row_ratio("walk of 20 native and 20 managed frames", "ns", gbench_median_ns("whole/mixed"), "both alone",
                    gbench_median_ns("whole/managed") + gbench_median_ns("whole/tables"), 1.3);
}

static void run(int repetitions)
{
    stop_rows();
    capture_rows();
    gbench_add(&(struct gbench_spec){.name = "art/bare", .run = at_depth, .arg = &bare, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "art/walk", .run = at_depth, .arg = &ours, .batch = BATCH});
    gbench_run("art/(bare|walk)", repetitions, 0.05);
    bench_row_ratio("walk of 30 managed frames", "ns", gbench_median_ns("art/walk"), "the runtime's walk alone",
                    gbench_median_ns("art/bare"), 1.3);
    whole_stack_rows(repetitions);
    gbench_add(&(struct gbench_spec){.name = "art/sample", .run = at_depth, .arg = &whole, .batch = BATCH});
    begin(0, true);
    gbench_run("art/sample", repetitions, 0.05);
    check_depth();
    strobe_art_stop();
    bench_row_most("whole synchronous sample of 30 managed frames", "ns", gbench_median_ns("art/sample"), 1000);
    gbench_add(&(struct gbench_spec){.name = "art/whole_sample", .run = at_depth, .arg = &whole, .batch = BATCH});
    begin(0, false);
    gbench_run("art/whole_sample", repetitions, 0.05);
    check_depth();
    strobe_art_stop();
    bench_row_note("the same with native frames", "ns", gbench_median_ns("art/whole_sample"));
    allocation_rows(repetitions);
}

int main(int argc, char **argv)
{
    static const char *const dex[] = {"fixtures/art/contract.dex", NULL};
    static const struct strobe_jni_native natives[] = {{"sample", "(I)V", (void *)(uintptr_t)sample}};
    struct sim_art_options options = {.dex = dex};
    const char *json = "bench-art.json";
    struct strobe_error error;
    char path[TEMPORARY_BYTES];
    int repetitions = 9, option;
    while ((option = getopt(argc, argv, "r:o:")) != -1)
        switch (option) {
        case 'r': repetitions = atoi(optarg); break;
        case 'o': json = optarg; break;
        default:
            fprintf(stderr, "usage: strobe-bench-art [-r REPETITIONS] [-o JSON] [interpreted|quick|fake30]\n");
            return 2;
        }
    options.interpreted = optind < argc && !strcmp(argv[optind], "interpreted");
    bool fake = optind < argc && !strcmp(argv[optind], "fake30");
    printf("Android 11, %s\n", fake ? "the fake" : options.interpreted ? "interpreted" : "quick frames");
    int fd = mkstemp(temporary_path(path, "strobe-bench-XXXXXX"));
    if (fd < 0 || close(fd) != 0)
        return 2;
    session_path = path;
    if (sim_art_start(fake ? "fake30" : "art11", &options, &art, &error) != STROBE_OK ||
        strobe_libart_open(art.library_name, art.api, &libart, &error) != STROBE_OK) {
        printf("SKIPPED, nothing measured: %s\n", error.text);
        unlink(path);
        return 0;
    }
    get_method = (void *(*)(const void *))(uintptr_t)libart.address[STROBE_ART_VISITOR_METHOD];
    main_class = strobe_jni_find_class(art.env, "Main");
    if (!main_class || !sim_jni_bind(art.env, "Main", natives, 1))
        return 2;
    if (fake)
        capture_rows();
    else
        run(repetitions > 0 ? repetitions : 1);
    unlink(path);
    int missed = bench_table(json);
    if (missed > 0)
        printf("%d of the targets MISSED\n", missed);
    fflush(stdout);
    _exit(missed < 0 ? 2 : 0); /* without the runtime's exit handlers */
}
