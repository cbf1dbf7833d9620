/* Twelve threads that meet all hooks at once, with the sampler on: every stack of the session is one that the workload
 * can have. STRESS_SECONDS=N makes it last longer. */
#include "tests/contract_art/capture.h"
#include "tests/contract_art/java.h"
#include "tests/contract_art/workload.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 12, SECONDS = 2 };

/* Who calls whom in the workload, by class and name. */
static const char *const calls[][2] = {
    {"Stress.run", "Main.<clinit>"}, {"Stress.run", "Main.a"}, {"Main.a", "Main.b"}, {"Main.b", "Main.c"},
    {"Main.<clinit>", "java.lang.Object.<init>"}, {"Main.c", "Main.busy"},
    {"Stress.run", "Main.contend"}, {"Main.contend", "Main.busy"}, {"Stress.run", "Main.alloc"},
    {"Main.alloc", "Square.<init>"}, {"Square.<init>", "Shape.<init>"}, {"Shape.<init>", "java.lang.Object.<init>"},
    {"Stress.run", "Main.waitMs"}, {"Main.waitMs", "java.lang.Object.wait"},
    {"java.lang.Object.wait", "java.lang.Object.wait"}, {"Stress.run", "Main.deep"}, {"Main.deep", "Main.deep"},
    {"Main.deep", "Main.sample"}, {"Stress.run", "Stress.overflowCaught"},
    {"Stress.overflowCaught", "Stress.overflow"}, {"Stress.overflow", "Stress.overflow"},
    {"Stress.overflow", "java.lang.StackOverflowError.<init>"}, {"Stress.run", "Main.thrower"},
    {"Main.thrower", "java.lang.ArithmeticException.<init>"},
    {"java.lang.ArithmeticException.<init>", "java.lang.RuntimeException.<init>"},
    {"java.lang.RuntimeException.<init>", "java.lang.Exception.<init>"},
    {"java.lang.Exception.<init>", "java.lang.Throwable.<init>"},
    {"java.lang.Throwable.<init>", "java.lang.Object.<init>"},
    {"java.lang.Throwable.<init>", "java.lang.Throwable.nativeFillInStackTrace"},
    {"java.lang.Throwable.<init>", "java.lang.Throwable.fillInStackTrace"},
    {"java.lang.Throwable.fillInStackTrace", "java.lang.Throwable.nativeFillInStackTrace"},
};

/* "void Main.deep(int)" without what it returns and takes. */
static void plain(const char *pretty, char *out, size_t bytes)
{
    const char *open = strchr(pretty, '('), *begin = pretty;
    for (const char *p = pretty; *p && (!open || p < open); p++)
        if (*p == ' ')
            begin = p + 1;
    snprintf(out, bytes, "%.*s", (int)(open ? open - begin : 0), begin);
}

struct tally { struct capture *k; uint64_t stacks, wrong, cut; int told; };

static bool is_called(const char *caller, const char *callee)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (!strcmp(calls[i][0], caller) && !strcmp(calls[i][1], callee))
            return true;
    return false;
}

static void check_stack(void *ctx, const struct strobe_record *r)
{
    struct tally *t = ctx;
    char callee[128] = "", caller[128] = "";
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count = 0;
    if (r->kind == STROBE_KIND_WAKE)
        return;   /* the stack is the waker's */
    if (!r->stack || t->k->session.threads[r->thread].is_main ||
        strobe_stack_frames(&t->k->session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK)
        return;
    bool right = true;
    for (uint32_t i = 0; i < count; i++) {
        plain(capture_frame(t->k, r->stack, i), caller, sizeof caller);
        right = right && (i == 0 || is_called(caller, callee));
        memcpy(callee, caller, sizeof callee);
    }
    bool cut = r->flags & STROBE_FLAG_CUT;
    right = right && (cut || !strcmp(caller, "Stress.run"));
    t->stacks++;
    t->cut += cut;
    t->wrong += !right;
    if (right || t->told++ >= 3)
        return;
    fprintf(stderr, "odd stack of %s (%s):", t->k->session.threads[r->thread].name, strobe_kind_name(r->kind));
    for (uint32_t i = 0; i < count; i++)
        fprintf(stderr, " %s", capture_frame(t->k, r->stack, i));
    fprintf(stderr, "\n");
}

static void native_sample(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)env, (void)class, (void)what;
}

static void twelve_threads_at_all_hooks_leave_no_wrong_stack(struct contract *c)
{
    static const int modes[THREADS] = {0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6};
    struct strobe_jni *env = c->art.env;
    struct strobe_config config;
    struct capture k;
    strobe_jobject thread[THREADS];
    const char *told = getenv("STRESS_SECONDS");
    int seconds = told ? atoi(told) : SECONDS;
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = 200000;
    config.async_interval_ns = 1000000;
    workload_bind(env, "Main", "sample", "(I)V", (void *)native_sample);
    if (!capture_begin(c, &config, &k))
        return;
    for (int i = 0; i < THREADS; i++)
        thread[i] = java_static(env, "Stress", "go", "(I)Ljava/lang/Thread;",
                                (union strobe_jvalue[]){{.i = modes[i]}}).l;
    workload_pause((unsigned)seconds * 1000);
    workload_set_bool(env, "Main", "stop", true);
    for (int i = 0; i < THREADS; i++)
        java_virtual(env, thread[i], "join", "()V", NULL);
    capture_end(&k);
    struct tally t = {.k = &k};
    capture_visit(&k, check_stack, &t);
    CHECK(c, t.stacks >= 500, "%llu stacks", (unsigned long long)t.stacks);
    CHECK(c, t.wrong == 0, "%llu of %llu stacks are wrong", (unsigned long long)t.wrong, (unsigned long long)t.stacks);
    if (told)
        for (int kind = 1; kind < STROBE_KIND_COUNT; kind++)
            printf("%-8s %12llu\n", strobe_kind_name((unsigned)kind),
                   (unsigned long long)capture_requests(&k, (enum strobe_kind)kind));
    capture_drop(&k);
}

const struct contract_case contract_cases_stress[] = {
    {"twelve_threads_at_all_hooks_leave_no_wrong_stack",
     twelve_threads_at_all_hooks_leave_no_wrong_stack, CONTRACT_HEAVY},
    {0},
};
