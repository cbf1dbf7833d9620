/* Inline hookers that a capture finds, or does without: events by the runtime's callbacks and native methods alone, an
 * app that has loaded ShadowHook, a library that begins a capture when it is loaded. */
#include "engine/backend/art/detour/detour.h"
#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"
#include "tests/support/shadowhook.h"
#include "tests/support/temporary.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5000, POLLS = 10, LOADS = 3 };

static void allocations_are_counted_to_the_last_also_where_the_world_is_stopped_for_it(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    config.interval_main_ns = 1000000;
    capture_call(c, "alloc", "(I)V", 1);
    if (!capture_begin_by(c, &config, NULL, &k))
        return;
    capture_call(c, "alloc", "(I)V", ROUNDS);
    capture_end(&k);
    uint64_t seen = capture_requests(&k, STROBE_KIND_ALLOC);
    CHECK(c, seen >= 2 * ROUNDS || !capture_has(&k, STROBE_ART_ALLOC), "%llu allocations", (unsigned long long)seen);
    bool known = k.session.header->config.metrics & STROBE_METRIC_ALLOC;
    CHECK(c, known == capture_has(&k, STROBE_ART_ALLOC), "where they are not seen the session says that: %d", known);
    CHECK(c, !strcmp(k.status.hooker, "none: not asked for"), "%s", k.status.hooker);
    CHECK(c, k.status.stops == known, "threads are stopped, and the status says so");
    CHECK(c, strstr(k.status.off[STROBE_ART_JNI], "can't be hooked: not asked for"), "%s",
          k.status.off[STROBE_ART_JNI]);
    capture_drop(&k);
}

static int refuse(void *ctx, void *target, void *replacement, void **original, void **handle)
{
    (void)ctx, (void)target, (void)replacement, (void)original, (void)handle;
    return EPERM;
}

static int cannot_be(void *ctx, void *handle)
{
    (void)ctx, (void)handle;
    abort();
}

static const struct strobe_inline_hooker refuses = {.name = "refuses", .install = refuse, .remove = cannot_be};

static void waits_ms(struct strobe_jni *env, strobe_jobject o, int64_t ms)
{
    java_enter(env, o);
    java_wait(env, o, ms);
    java_exit(env, o);
}

static void a_hooker_that_refuses_leaves_what_goes_without_it(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    strobe_jobject o = java_new(c->art.env, "java/lang/Object");
    capture_config(&config);
    if (!capture_begin_by(c, &config, &refuses, &k))
        return;
    waits_ms(c->art.env, o, 5);
    java_enter(c->art.env, o);
    java_static(c->art.env, "java/lang/Thread", "sleep", "(Ljava/lang/Object;JI)V",
                (union strobe_jvalue[]){{.l = o}, {.j = 5}, {.i = 0}});
    java_exit(c->art.env, o);
    capture_end(&k);
    CHECK(c, !capture_has(&k, STROBE_ART_JNI) && strstr(k.status.off[STROBE_ART_JNI], "refuse"), "%s",
          k.status.off[STROBE_ART_JNI]);
    CHECK(c, !capture_has(&k, STROBE_ART_GC) && k.status.off[STROBE_ART_GC][0], "%s", k.status.off[STROBE_ART_GC]);
    CHECK(c, capture_has(&k, STROBE_ART_WAIT) && capture_requests(&k, STROBE_KIND_COND) == 1, "%llu waits",
          (unsigned long long)capture_requests(&k, STROBE_KIND_COND));
    CHECK(c, capture_requests(&k, STROBE_KIND_SLEEP) == 1, "%llu sleeps",
          (unsigned long long)capture_requests(&k, STROBE_KIND_SLEEP));
    CHECK(c, capture_requests(&k, STROBE_KIND_WAKE) == 0, "a waker from nowhere");
    capture_drop(&k);
}

/* ---- a hooker that hooks many functions at once, and counts how often it does */

static struct {
    uint64_t refused; /* address of a function that it does not hook */
    int installs, removes, hooks;
} counted;

static void install_counted(void *ctx, struct strobe_inline_request *request, size_t count)
{
    counted.installs++;
    strobe_detours.install_all(ctx, request, count);
    for (struct strobe_inline_request *r = request; r < request + count; r++) {
        if ((uintptr_t)r->target == counted.refused)
            r->refused = strobe_detours.remove(ctx, r->handle) ? EIO : EPERM;
        counted.hooks += !r->refused;
    }
}

static void remove_counted(void *ctx, struct strobe_inline_request *request, size_t count)
{
    counted.removes++;
    strobe_detours.remove_all(ctx, request, count);
    for (struct strobe_inline_request *r = request; r < request + count; r++)
        counted.hooks -= !r->refused;
}

static const struct strobe_inline_hooker counts = {
    .name = "counts", .install_all = install_counted, .remove_all = remove_counted};

static bool begin_counted(struct contract *c, uint64_t refused, struct capture *k)
{
    struct strobe_config config;
    memset(&counted, 0, sizeof counted);
    counted.refused = refused;
    capture_config(&config);
    return capture_begin_by(c, &config, &counts, k);
}

/* Installing hooks and removing them may stop all threads. */
static void inline_hooks_of_all_features_are_installed_at_once_and_removed_at_once(struct contract *c)
{
    struct capture k;
    if (!begin_counted(c, 0, &k))
        return;
    CHECK(c, counted.installs == 1 && counted.removes == 0, "%d times, and %d removals", counted.installs,
          counted.removes);
    CHECK(c, counted.hooks >= 8, "%d hooks", counted.hooks);
    capture_end(&k);
    CHECK(c, counted.installs == 1 && counted.removes == 1, "%d times, and %d removals", counted.installs,
          counted.removes);
    CHECK(c, counted.hooks == 0, "%d hooks are left", counted.hooks);
    capture_drop(&k);
}

static void a_feature_without_one_of_its_hooks_has_none_of_them_and_the_others_go_on(struct contract *c)
{
    struct capture k;
    if (!begin_counted(c, c->libart.address[STROBE_ART_GC_COLLECT], &k))
        return;
    CHECK(c, counted.installs == 1 && counted.removes == 1, "%d times, and %d removals", counted.installs,
          counted.removes);
    CHECK(c, !capture_has(&k, STROBE_ART_GC) && strstr(k.status.off[STROBE_ART_GC], "counts refused"), "%s",
          k.status.off[STROBE_ART_GC]);
    CHECK(c, capture_has(&k, STROBE_ART_JNI) && capture_has(&k, STROBE_ART_WAIT), "the others are in place");
    contract_collect(c);
    waits_ms(c->art.env, java_new(c->art.env, "java/lang/Object"), 5);
    capture_end(&k);
    CHECK(c, capture_requests(&k, STROBE_KIND_GC) == 0, "%llu records of a feature that is off",
          (unsigned long long)capture_requests(&k, STROBE_KIND_GC));
    CHECK(c, capture_requests(&k, STROBE_KIND_COND) == 1, "%llu waits",
          (unsigned long long)capture_requests(&k, STROBE_KIND_COND));
    CHECK(c, counted.hooks == 0, "%d hooks are left", counted.hooks);
    capture_drop(&k);
}

/* ---- ShadowHook ---- */

static struct stand_in_shadowhook *load_shadowhook(struct contract *c)
{
    char path[512];
    const char *build = getenv("B");
    snprintf(path, sizeof path, "%s/shadowhook/new/libshadowhook.so", build ? build : "build");
    void *library = dlopen(path, RTLD_NOW);
    return CHECK(c, library, "%s", dlerror()) ? dlsym(library, "stand_in") : NULL;
}

static void an_app_that_has_loaded_shadowhook_has_its_hooks_made_by_it(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    struct stand_in_shadowhook *s = load_shadowhook(c);
    capture_config(&config);
    if (!s || !capture_begin(c, &config, &k))
        return;
    CHECK(c, !strcmp(k.status.hooker, "shadowhook") && s->installed > 0, "%s, %d hooks", k.status.hooker, s->installed);
    waits_ms(c->art.env, java_new(c->art.env, "java/lang/Object"), 5);
    capture_end(&k);
    CHECK(c, capture_requests(&k, STROBE_KIND_COND) == 1, "%llu waits",
          (unsigned long long)capture_requests(&k, STROBE_KIND_COND));
    CHECK(c, s->installed == 0, "%d hooks left", s->installed);
    capture_drop(&k);
}

/* The session says of each feature what the status says. */
static void check_notes(struct contract *c, const struct capture *k)
{
    char expected[160];
    struct strobe_named_address note;
    uint32_t found = 0;
    for (uint64_t at = 0; strobe_names_next_note(&k->session.names, &at, &note); found++) {
        uint32_t use = (uint32_t)note.address - 1;
        if (found == 0)
            snprintf(expected, sizeof expected, "inline hooks: %s", k->status.hooker);
        else
            snprintf(expected, sizeof expected, "%s: %s%s%s", strobe_art_use_name((enum strobe_art_use)use),
                     capture_has(k, (enum strobe_art_use)use) ? "in place" : "off", k->status.off[use][0] ? ", " : "",
                     k->status.off[use]);
        CHECK(c, note.bytes == strlen(expected) && !memcmp(note.text, expected, note.bytes), "\"%.*s\", not \"%s\"",
              (int)note.bytes, note.text, expected);
    }
    CHECK(c, found == STROBE_ART_USES, "%u notes", found);
}

static void hooks_that_shadowhook_refuses_turn_off_their_features_alone(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    struct stand_in_shadowhook *s = load_shadowhook(c);
    if (!s)
        return;
    capture_config(&config);
    s->hooks_left = 4; /* monitors and waits have more, and come first */
    if (!capture_begin(c, &config, &k))
        return;
    CHECK(c, capture_has(&k, STROBE_ART_MONITOR), "%s", k.status.off[STROBE_ART_MONITOR]);
    CHECK(c, !strcmp(k.status.off[STROBE_ART_JNI], "shadowhook refused artQuickGenericJniTrampoline: rewrite failed"),
          "%s", k.status.off[STROBE_ART_JNI]);
    CHECK(c, !capture_has(&k, STROBE_ART_GC) && strstr(k.status.off[STROBE_ART_GC], "rewrite failed"), "%s",
          k.status.off[STROBE_ART_GC]);
    capture_end(&k);
    check_notes(c, &k);
    CHECK(c, s->installed == 0, "%d hooks left", s->installed);
    capture_drop(&k);
}

/* ---- the app's native methods ---- */

static void native_poll_once(struct strobe_jni *env, strobe_jobject queue, int64_t pointer, int32_t timeout_ms)
{
    (void)env, (void)queue, (void)pointer;
    workload_pause((unsigned)timeout_ms);
}

static int loads;

static strobe_jobject native_load(struct strobe_jni *env, strobe_jclass class, strobe_jobject name,
                                  strobe_jobject loader, strobe_jclass caller)
{
    (void)env, (void)class, (void)caller;
    loads += name == NULL && loader == NULL;
    return NULL;
}

#define LOAD "(Ljava/lang/String;Ljava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/String;"

static void polls_begin_messages_and_libraries_are_seen_to_load(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    workload_bind(env, "android/os/MessageQueue", "nativePollOnce", "(JI)V", (void *)native_poll_once);
    workload_bind(env, "java/lang/Runtime", "nativeLoad", LOAD, (void *)native_load);
    strobe_jobject queue = java_new(env, "android/os/MessageQueue");
    union strobe_jvalue poll[] = {{.j = 4711}, {.i = 1}}, load[] = {{.l = NULL}, {.l = NULL}, {.l = NULL}};
    if (!capture_begin_by(c, &config, NULL, &k))
        return;
    for (int i = 0; i < POLLS; i++)
        java_virtual(env, queue, "nativePollOnce", "(JI)V", poll);
    for (int i = 0; i < LOADS; i++)
        java_static(env, "java/lang/Runtime", "nativeLoad", LOAD, load);
    capture_end(&k);
    java_static(env, "java/lang/Runtime", "nativeLoad", LOAD, load); /* no longer hooked */
    uint32_t messages = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&k.session); i++)
        messages += k.session.threads[i].message;
    CHECK(c, capture_requests(&k, STROBE_KIND_POLL) == POLLS && messages == POLLS, "%llu polls, %u messages",
          (unsigned long long)capture_requests(&k, STROBE_KIND_POLL), messages);
    CHECK(c, capture_requests(&k, STROBE_KIND_LOAD) == LOADS && loads == LOADS + 1, "%llu loads, %d arrived",
          (unsigned long long)capture_requests(&k, STROBE_KIND_LOAD), loads);
    capture_drop(&k);
}

/* ---- capture at load ---- */

/* Checks that a second load is refused. The library reports it to Android's log, or to standard error without that
 * log. */
static void check_second_load(struct contract *c, int32_t (*on_load)(void *, void *))
{
    char said[128] = "";
    int ends[2], before = dup(STDERR_FILENO);
    bool logs = dlsym(RTLD_DEFAULT, "__android_log_print");
    if (!CHECK(c, pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0, "no pipe"))
        return;
    int32_t version = on_load(c->art.vm, NULL);
    dup2(before, STDERR_FILENO);
    close(ends[1]);
    ssize_t n = read(ends[0], said, sizeof said - 1);
    CHECK(c, version == STROBE_JNI_VERSION, "the version of JNI, also where a capture is refused");
    CHECK(c, logs ? n == 0 : !strcmp(said, "strobe: a capture is under way\n"), "%zd bytes: %s", n, said);
    close(ends[0]);
    close(before);
}

/* Every feature whose functions the runtime has is on, and starting it has stopped no threads. */
static void check_all_features(struct contract *c, const struct capture *k)
{
    for (int use = STROBE_ART_ALLOC; use <= STROBE_ART_GC; use++)
        if (strobe_libart_has(&c->libart, (enum strobe_art_use)use))
            CHECK(c, capture_has(k, (enum strobe_art_use)use), "%s: %s", strobe_art_use_name((enum strobe_art_use)use),
                  k->status.off[use]);
    CHECK(c, !k->status.stops, "the start stops all threads");
}

/* The library has its own engine, separate from this program's. */
static void the_library_captures_from_when_it_is_loaded(struct contract *c)
{
    struct strobe_config config;
    struct capture k = {.contract = c};
    char library[512], level[16];
    const char *build = getenv("B");
    capture_config(&config);
    capture_call(c, "alloc", "(I)V", 1);
    snprintf(library, sizeof library, "%s/libstrobe-art.so", build ? build : "build");
    temporary_path(k.path, "contract_art.%d", (int)getpid());
    snprintf(level, sizeof level, "%d", c->art.api);
    CHECK(c, strobe_session_create(k.path, &config, NULL, 1, &k.session) == STROBE_OK, "%s", k.path);
    strobe_session_unmap(&k.session);
    setenv("STROBE_SESSION", k.path, 1);
    setenv("STROBE_ART_API", level, 1);
    void *opened = dlopen(library, RTLD_NOW);
    int32_t (*on_load)(void *, void *) = NULL;
    enum strobe_status (*status)(struct strobe_art_status *) = NULL;
    void (*stop)(void) = NULL;
    if (!CHECK(c, opened, "%s", dlerror()))
        return;
    *(void **)&on_load = dlsym(opened, "JNI_OnLoad");
    *(void **)&stop = dlsym(opened, "strobe_art_stop");
    *(void **)&status = dlsym(opened, "strobe_art_status");
    CHECK(c, status(&k.status) == STROBE_NO_ENTRY, "no status before the first capture");
    CHECK(c, on_load(c->art.vm, NULL) == STROBE_JNI_VERSION, "the version of JNI");
    CHECK(c, status(&k.status) == STROBE_OK && !strcmp(k.status.hooker, "detours"), "%s", k.status.hooker);
    check_all_features(c, &k);
    check_second_load(c, on_load);
    capture_call(c, "alloc", "(I)V", ROUNDS);
    stop();
    CHECK(c, strobe_session_open(k.path, &k.session) == STROBE_OK, "%s", k.path);
    k.open = true;
    unlink(k.path);
    CHECK(c, k.session.header->state == STROBE_SESSION_CLOSED, "a closed session");
    CHECK(c, capture_requests(&k, STROBE_KIND_ALLOC) >= 2 * ROUNDS || c->art.api < 26, "%llu allocations",
          (unsigned long long)capture_requests(&k, STROBE_KIND_ALLOC));
    capture_drop(&k);
}

const struct contract_case contract_cases_without[] = {
    {"allocations_are_counted_to_the_last_also_where_the_world_is_stopped_for_it",
     allocations_are_counted_to_the_last_also_where_the_world_is_stopped_for_it, 0},
    {"a_hooker_that_refuses_leaves_what_goes_without_it", a_hooker_that_refuses_leaves_what_goes_without_it, 0},
    {"inline_hooks_of_all_features_are_installed_at_once_and_removed_at_once",
     inline_hooks_of_all_features_are_installed_at_once_and_removed_at_once, 0},
    {"a_feature_without_one_of_its_hooks_has_none_of_them_and_the_others_go_on",
     a_feature_without_one_of_its_hooks_has_none_of_them_and_the_others_go_on, 0},
    {"an_app_that_has_loaded_shadowhook_has_its_hooks_made_by_it",
     an_app_that_has_loaded_shadowhook_has_its_hooks_made_by_it, 0},
    {"hooks_that_shadowhook_refuses_turn_off_their_features_alone",
     hooks_that_shadowhook_refuses_turn_off_their_features_alone, 0},
    {"polls_begin_messages_and_libraries_are_seen_to_load", polls_begin_messages_and_libraries_are_seen_to_load, 0},
    {"the_library_captures_from_when_it_is_loaded", the_library_captures_from_when_it_is_loaded, 0},
    {0},
};
