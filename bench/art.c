/* Measures the Android backend on a genuine runtime, Debian's Android 11.
 *
 *     strobe-bench-art [-r REPETITIONS] [-o JSON] [interpreted|quick]
 *
 * When the runtime is not installed, the program prints that and measures nothing. The exit status is 0 even when a
 * target is missed, because other load on the machine can be the cause. */
#include "bench/bench.h"
#include "engine/base/error.h"

#include "engine/backend/art/hooks/events.h"
#include "sim/genuine/jni_calls.h"
#include "sim/genuine/runtime.h"
#include "tests/support/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 30, BATCH = 100, OBJECTS_A_ROUND = 2, ROUNDS = 20000 };

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
    if (count < FRAMES)
        abort();
    bench_keep(frames);
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

static void check_depth(void)
{
    const struct strobe_stack_node *node =
        strobe_stack_node_of(&strobe_art.engine.session.stacks, strobe_local.thread->pending.record.stack);
    if (!node || node->depth < FRAMES)
        abort();
}

static struct gbench_state *measured;
static void (*work)(void *thread);

/* The native method Main.sample, which the innermost call of Main.deep calls. */
static void sample(struct strobe_jni *env, strobe_jclass class, int32_t unused)
{
    void *thread = strobe_art_current(&libart);
    (void)env, (void)class, (void)unused;
    while (gbench_loop(measured))
        for (int i = 0; i < BATCH; i++)
            work(thread);
}

static void call(const char *name, int32_t argument)
{
    strobe_jmethod method = strobe_jni_static_method(art.env, main_class, name, "(I)V");
    union strobe_jvalue value = {.i = argument};
    sim_jni_call_static(art.env, main_class, method, &value);
}

static void at_depth(struct gbench_state *s, const void *arg)
{
    measured = s;
    work = *(void (*const *)(void *))arg;
    call("deep", FRAMES - 2);
}

/* ---- captures */

/* Begins a capture. `interval_ns` is the gate's interval. There is no sampler, and no metrics are read. */
static void begin(uint64_t interval_ns)
{
    struct strobe_config c;
    struct strobe_session s;
    struct strobe_art_options o = {.session_path = session_path, .library = art.library_name, .api = art.api};
    struct strobe_error error;
    strobe_config_default(&c);
    c.interval_main_ns = c.interval_other_ns = interval_ns;
    c.async_interval_ns = 0;
    c.metrics = 0;
    c.ring_slots = 1 << 12;
    c.names_bytes = STROBE_NAMES_BYTES_MIN;
    if (strobe_session_create(session_path, &c, "bench", 1, &s) != STROBE_OK)
        exit(2);
    strobe_session_unmap(&s);
    if (strobe_art_start(art.vm, &o, NULL, &error) != STROBE_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
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
        begin(1000000000);
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

/* ---- all benches */

static void (*const bare)(void *) = walk_bare;
static void (*const ours)(void *) = walk_ours;
static void (*const whole)(void *) = take_sample;

static void run(int repetitions)
{
    gbench_add(&(struct gbench_spec){.name = "art/bare", .run = at_depth, .arg = &bare, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "art/walk", .run = at_depth, .arg = &ours, .batch = BATCH});
    gbench_run("art/(bare|walk)", repetitions, 0.05);
    bench_row_ratio("walk of 30 managed frames", "ns", gbench_median_ns("art/walk"), "the runtime's walk alone",
                    gbench_median_ns("art/bare"), 1.3);
    gbench_add(&(struct gbench_spec){.name = "art/sample", .run = at_depth, .arg = &whole, .batch = BATCH});
    begin(0);
    gbench_run("art/sample", repetitions, 0.05);
    check_depth();
    strobe_art_stop();
    bench_row_most("whole synchronous sample of 30 managed frames", "ns", gbench_median_ns("art/sample"), 1000);
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
        default: fprintf(stderr, "usage: strobe-bench-art [-r REPETITIONS] [-o JSON] [interpreted|quick]\n"); return 2;
        }
    options.interpreted = optind < argc && !strcmp(argv[optind], "interpreted");
    printf("Android 11, %s\n", options.interpreted ? "interpreted" : "quick frames");
    int fd = mkstemp(temporary_path(path, "strobe-bench-XXXXXX"));
    if (fd < 0 || close(fd) != 0)
        return 2;
    session_path = path;
    if (sim_art_start("art11", &options, &art, &error) != STROBE_OK ||
        strobe_libart_open(art.library_name, art.api, &libart, &error) != STROBE_OK) {
        printf("SKIPPED, nothing measured: %s\n", error.text);
        unlink(path);
        return 0;
    }
    get_method = (void *(*)(const void *))(uintptr_t)libart.address[STROBE_ART_VISITOR_METHOD];
    main_class = strobe_jni_find_class(art.env, "Main");
    if (!main_class || !sim_jni_bind(art.env, "Main", natives, 1))
        return 2;
    run(repetitions > 0 ? repetitions : 1);
    unlink(path);
    int missed = bench_table(json);
    if (missed > 0)
        printf("%d of the targets MISSED\n", missed);
    fflush(stdout);
    _exit(missed < 0 ? 2 : 0); /* without the runtime's exit handlers */
}
