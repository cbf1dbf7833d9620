/* Whole stacks in a capture: managed frames and frames of libapp.so in their true order. The cases use the engine by
 * its exported functions alone, so they also run with the library built for Android. */
#include "engine/base/error.h"
#include "engine/cmd/preload.h"
#include "tests/contract_art/native/calls.h"
#include "tests/contract_art/native/chain.h"
#include "tests/contract_art/support/stage.h"
#include "tests/contract_art/support/workload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct capture k;

/* Samples whose stacks have been compared: `whole` ones have all frames of the chain. `parts` lack some at the end,
 * because the thread was on its way there or back, or native ones, because the thread took no signal. */
static struct {
    uint32_t whole, parts, wrong, native;
    enum strobe_kind kind;
} compared;

static void compare_record(void *ctx, const struct strobe_record *r)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count, n = 0, at_expected = 0;
    bool same = true;
    (void)ctx;
    if (r->kind != compared.kind ||
        strobe_stack_frames(&k.session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t frame = chain_frame(frames[i]);
        if (!frame)
            continue;
        compared.native += frame <= CHAIN_FUNCTIONS;
        /* Native frames may be missing, which the engine counts. Managed ones may not. */
        while (at_expected < chain.expected.count && chain.expected.frames[at_expected] != frame &&
               chain.expected.frames[at_expected] <= CHAIN_FUNCTIONS)
            at_expected++;
        same &= at_expected < chain.expected.count && chain.expected.frames[at_expected] == frame;
        at_expected++;
        n++;
    }
    if (n)
        *(!same ? &compared.wrong : n == chain.expected.count ? &compared.whole : &compared.parts) += r->count;
}

static void compare_stacks(enum strobe_kind kind)
{
    memset(&compared, 0, sizeof compared);
    compared.kind = kind;
    capture_visit(&k, compare_record, NULL);
}

static void wait_at_the_end(void)
{
    java_static(strobe_jvm_env(chain.c->art.vm), "Main", "waitMs", "(J)V", &(union strobe_jvalue){.j = 1});
}

static bool capture_plan(struct contract *c, void (*end)(void), uint64_t async_interval_ns, bool managed_only)
{
    struct strobe_config config;
    capture_config(&config);
    config.async_interval_ns = async_interval_ns;
    chain_open(c, end);
    capture_managed_only = managed_only;
    if (!capture_begin(c, &config, &k))
        return false;
    chain_run("nmnnmn");
    capture_end(&k);
    return true;
}

static void a_hook_in_nested_native_and_managed_code_takes_the_whole_stack(struct contract *c)
{
    if (!capture_plan(c, wait_at_the_end, 0, false))
        return;
    CHECK(c, capture_has(&k, STROBE_ART_NATIVE), "%s", k.status.off[STROBE_ART_NATIVE]);
    compare_stacks(STROBE_KIND_COND);
    CHECK(c, compared.whole > 0 && !compared.parts && !compared.wrong, "%u whole stacks, %u parts, %u wrong",
          compared.whole, compared.parts, compared.wrong);
    bool listed = false;
    for (uint32_t i = 0; i < strobe_session_image_count(&k.session); i++) {
        const struct strobe_image_entry *e = &k.session.images[i];
        listed |= (uint64_t)(uintptr_t)chain.functions - e->start < e->end - e->start &&
                  strstr(e->path, "/libapp.so") && e->build_id_bytes > 0;
    }
    CHECK(c, listed, "the session has the image of the native frames, with its build id");
    struct strobe_named_address n;
    for (uint64_t next = 0; strobe_names_next(&k.session.names, &next, &n);)
        CHECK(c, chain_frame(n.address) != 1 && !(n.flags & STROBE_NAME_STALE), "\"%.*s\" is no method", (int)n.bytes,
              n.text);
    capture_drop(&k);
}

static void a_capture_of_managed_frames_has_no_native_ones(struct contract *c)
{
    if (!capture_plan(c, wait_at_the_end, 0, true))
        return;
    CHECK(c, !capture_has(&k, STROBE_ART_NATIVE) && k.status.off[STROBE_ART_NATIVE][0], "it says why");
    compare_stacks(STROBE_KIND_COND);
    CHECK(c, compared.native == 0 && compared.parts + compared.wrong > 0, "%u native frames", compared.native);
    capture_drop(&k);
}

static void compute_at_the_end(void)
{
    struct timespec t;
    uint64_t from = 0, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        from = from ? from : now;
    } while (now - from < UINT64_C(40000000));
}

static void a_thread_that_computes_in_nested_native_code_is_shown_there(struct contract *c)
{
    if (!capture_plan(c, compute_at_the_end, 1000000, false))
        return;
    compare_stacks(STROBE_KIND_ASYNC);
    CHECK(c, compared.whole >= 10 && !compared.wrong, "%u whole stacks, %u parts, %u wrong", compared.whole,
          compared.parts, compared.wrong);
    capture_drop(&k);
}

/* ---- waits of native code ---- */

static const struct native_calls *app;
static struct stage stage;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int file;

static void hold_the_mutex(struct strobe_jni *env, void *unused)
{
    (void)env, (void)unused;
    prctl(PR_SET_NAME, "holder");
    app->pthread_mutex_lock(&held);
    stage.cue = 1;
    stage_await(&stage, 2);
    stage_pause(STAGE_PAUSE_MS);
    app->pthread_mutex_unlock(&held);
}

static void wait_and_read_at_the_end(void)
{
    char text[64];
    stage.cue = 2;
    app->pthread_mutex_lock(&held);
    app->pthread_mutex_unlock(&held);
    CHECK(chain.c, app->read(file, text, sizeof text) > 0, "the file is read");
}

/* The thread calls from native code into Java and back, and waits for the holder below. */
static void a_native_wait_and_a_read_below_nested_calls_have_the_whole_stack_and_the_waker(struct contract *c)
{
    struct strobe_config config;
    struct java_thread holder;
    char path[STROBE_PRELOAD_BYTES];
    void *library = strobe_library_find(NATIVE_LIBRARY, path, sizeof path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    app = library ? dlsym(library, NATIVE_SYMBOL) : NULL;
    file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (!CHECK(c, app && file >= 0, "the library and the file are there"))
        return;
    prctl(PR_SET_NAME, "waiter");
    chain_open(c, wait_and_read_at_the_end);
    capture_config(&config);
    stage.c = c;
    if (!capture_begin(c, &config, &stage.k))
        return;
    CHECK(c, capture_has(&stage.k, STROBE_ART_LIBC) && capture_has(&stage.k, STROBE_ART_NATIVE), "%s; %s",
          stage.k.status.off[STROBE_ART_LIBC], stage.k.status.off[STROBE_ART_NATIVE]);
    java_thread_start(&holder, c->art.vm, hold_the_mutex, NULL);
    stage_await(&stage, 1);
    chain_run("nmnnmn");
    java_thread_join(&holder);
    capture_end(&stage.k);
    stage_expect_waker(&stage, "waiter", STROBE_KIND_MUTEX, "holder");
    k = stage.k;
    static const enum strobe_kind kinds[] = {STROBE_KIND_MUTEX, STROBE_KIND_READ};
    for (int i = 0; i < 2; i++) {
        compare_stacks(kinds[i]);
        CHECK(c, compared.whole > 0 && !compared.parts && !compared.wrong, "%s: %u whole stacks, %u parts, %u wrong",
              strobe_kind_name(kinds[i]), compared.whole, compared.parts, compared.wrong);
    }
    close(file);
    capture_drop(&stage.k);
}

/* ---- critical native methods ---- */

enum { CRITICAL_BYTES = 256 }; /* the function is shorter */

static struct {
    uint64_t critical, caller; /* ArtMethods */
    uint32_t right, wrong;
} read_by_critical;

/* The innermost frames: the function, its method, and the method's caller. */
static void check_critical_read(void *ctx, const struct strobe_record *r)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX], code = (uint64_t)(uintptr_t)app->read_critically;
    uint32_t count;
    (void)ctx;
    if (r->kind != STROBE_KIND_READ ||
        strobe_stack_frames(&k.session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK)
        return;
    bool right = count >= 3 && frames[count - 1] - code < CRITICAL_BYTES &&
                 frames[count - 2] == read_by_critical.critical && frames[count - 3] == read_by_critical.caller;
    *(right ? &read_by_critical.right : &read_by_critical.wrong) += r->count;
}

/* Such a method stays in the state of managed code, and gets no environment. */
static void a_read_in_a_critical_native_method_has_the_whole_stack(struct contract *c)
{
    struct strobe_config config;
    char path[STROBE_PRELOAD_BYTES];
    void *library = strobe_library_find(NATIVE_LIBRARY, path, sizeof path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    app = library ? dlsym(library, NATIVE_SYMBOL) : NULL;
    file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (!CHECK(c, app && file >= 0, "the library and the file are there"))
        return;
    workload_bind(c->art.env, "Main", "critical", "(I)I", (void *)app->read_critically);
    read_by_critical.critical = workload_static(c->art.env, "Main", "critical", "(I)I");
    read_by_critical.caller = workload_static(c->art.env, "Main", "callCritical", "(I)I");
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    java_static(c->art.env, "Main", "callCritical", "(I)I", &(union strobe_jvalue){.i = file});
    capture_end(&k);
    capture_visit(&k, check_critical_read, NULL);
    CHECK(c, read_by_critical.right == 1 && !read_by_critical.wrong, "%u right stacks, %u wrong",
          read_by_critical.right, read_by_critical.wrong);
    close(file);
    capture_drop(&k);
}

const struct contract_case contract_cases_whole[] = {
    {"a_read_in_a_critical_native_method_has_the_whole_stack", a_read_in_a_critical_native_method_has_the_whole_stack,
     0},
    {"a_hook_in_nested_native_and_managed_code_takes_the_whole_stack",
     a_hook_in_nested_native_and_managed_code_takes_the_whole_stack, 0},
    {"a_capture_of_managed_frames_has_no_native_ones", a_capture_of_managed_frames_has_no_native_ones, 0},
    {"a_thread_that_computes_in_nested_native_code_is_shown_there",
     a_thread_that_computes_in_nested_native_code_is_shown_there, 0},
    {"a_native_wait_and_a_read_below_nested_calls_have_the_whole_stack_and_the_waker",
     a_native_wait_and_a_read_below_nested_calls_have_the_whole_stack_and_the_waker, 0},
    {NULL, NULL, 0},
};
