/* Scenarios as dex files: the runtime loads them, and their methods do what their player returns. */
#include "engine/base/error.h"
#include "tests/contract_art/support/contract.h"

#include "sim/genuine/jni_calls.h"
#include "sim/player/dex/dex.h"
#include "tests/support/temporary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The steps that the player returns, in order, and counts of the resulting calls. */
struct script {
    const int *steps;
    int catches;
    int calls, asked, natives;
    struct strobe_jni *env;
};

static int32_t step(struct strobe_jni *env, strobe_jclass class, int64_t player)
{
    struct script *s = (struct script *)(uintptr_t)player;
    (void)env;
    (void)class;
    s->calls++;
    return *s->steps++;
}

static uint8_t caught(struct strobe_jni *env, strobe_jclass class, int64_t player, strobe_jobject thrown)
{
    struct script *s = (struct script *)(uintptr_t)player;
    (void)env;
    (void)class;
    s->asked += thrown != NULL;
    return s->asked > s->catches;
}

static strobe_jobject thrown(struct strobe_jni *env, strobe_jclass class, int64_t player)
{
    strobe_jclass error = strobe_jni_find_class(env, "java/lang/RuntimeException");
    strobe_jmethod init = strobe_jni_method(env, error, "<init>", "()V");
    (void)class;
    (void)player;
    return sim_jni_new(env, error, init, NULL);
}

static void native(struct strobe_jni *env, strobe_jclass class, int64_t player)
{
    (void)env;
    (void)class;
    ((struct script *)(uintptr_t)player)->natives++;
}

/* An app of three methods: App.main calls Cache.get, which calls itself and the native App.sum. */
static const struct sim_scenario *app(void)
{
    static struct sim_op ops[] = {
        {.kind = SIM_OP_CALL, .object = 1},
        {.kind = SIM_OP_RECURSE, .object = 1},
        {.kind = SIM_OP_JNI, .object = 2},
    };
    static struct sim_block blocks[] = {{0, 0}, {0, 1}, {1, 2}};
    static struct sim_method methods[] = {
        {.name = "main", .managed = true, .block = 1},
        {.name = "Cache.get", .managed = true, .block = 2},
        {.name = "sum"},
    };
    static const struct sim_scenario s = {.path = "app",
                                          .ops = ops,
                                          .op_count = 3,
                                          .blocks = blocks,
                                          .block_count = 3,
                                          .methods = methods,
                                          .method_count = 3};
    return &s;
}

static bool write_dex(struct contract *c, char *path)
{
    struct strobe_error error;
    void *bytes;
    size_t count;
    int fd = mkstemp(path);
    bool made = sim_dex_of_scenario(app(), &bytes, &count, &error) == STROBE_OK;
    CHECK(c, made, "%s", error.text);
    bool written = made && fd >= 0 && write(fd, bytes, count) == (ssize_t)count;
    close(fd);
    return written;
}

static bool start(struct contract *c)
{
    static const struct strobe_jni_native player[] = {
        {"step", "(J)I", (void *)(uintptr_t)step},
        {"caught", "(JLjava/lang/Throwable;)Z", (void *)(uintptr_t)caught},
        {"thrown", "(J)Ljava/lang/Throwable;", (void *)(uintptr_t)thrown},
    };
    static const struct strobe_jni_native own[] = {{"sum", "(J)V", (void *)(uintptr_t)native}};
    struct strobe_error error;
    char path[TEMPORARY_BYTES];
    temporary_path(path, "strobe-contract-XXXXXX");
    const char *const dex[] = {path, NULL};
    if (!CHECK(c, write_dex(c, path), "no file %s", path))
        return false;
    c->options.dex = dex;
    enum strobe_status status = sim_art_start(c->runtime, &c->options, &c->art, &error);
    unlink(path);
    if (status == STROBE_UNSUPPORTED)
        contract_skip(c, error.text);
    return CHECK(c, status == STROBE_OK, "%s", error.text) &&
           CHECK(c, sim_jni_bind(c->art.env, "strobe/Player", player, 3), "natives of strobe.Player bound") &&
           CHECK(c, sim_jni_bind(c->art.env, "App", own, 1), "the native method bound");
}

/* Runs App.main. Returns true when it threw no exception. */
static bool run_main(struct contract *c, struct script *s)
{
    struct strobe_jni *env = c->art.env;
    strobe_jclass class = strobe_jni_find_class(env, "App");
    strobe_jmethod method = strobe_jni_static_method(env, class, "main", "(J)V");
    sim_jni_call_static(env, class, method, (const union strobe_jvalue[]){{.j = (int64_t)(uintptr_t)s}});
    return !sim_jni_take_exception(env);
}

static void a_scenarios_methods_call_what_their_player_says(struct contract *c)
{
    enum { MAIN, GET, SUM };
    /* main: get { get { sum, sum }, sum }, get { } */
    static const int steps[] = {GET, GET, SUM, SUM, -1, SUM, -1, GET, -1, -1};
    struct script s = {.steps = steps};
    if (!start(c))
        return;
    CHECK(c, run_main(c, &s), "an exception");
    CHECK(c, s.calls == 10, "%d steps", s.calls);
    CHECK(c, s.natives == 3, "%d calls of the native method", s.natives);
    CHECK(c, s.asked == 0, "%d exceptions", s.asked);
}

static void what_a_scenario_throws_unwinds_its_frames_to_who_catches_it(struct contract *c)
{
    enum { MAIN, GET, SUM };
    /* main: get { get { throw } }; two frames decline the exception, main catches it and continues */
    static const int caught_steps[] = {GET, GET, SIM_DEX_THROW, GET, SUM, -1, -1};
    static const int thrown_steps[] = {GET, SIM_DEX_THROW};
    struct script s = {.steps = caught_steps, .catches = 2};
    if (!start(c))
        return;
    CHECK(c, run_main(c, &s), "an exception");
    CHECK(c, s.asked == 3 && s.natives == 1, "%d frames asked, %d native calls", s.asked, s.natives);
    s = (struct script){.steps = thrown_steps, .catches = 9};
    CHECK(c, !run_main(c, &s), "no exception");
    CHECK(c, s.asked == 2, "%d frames asked", s.asked);
}

const struct contract_case contract_cases_dex[] = {
    {"a_scenarios_methods_call_what_their_player_says", a_scenarios_methods_call_what_their_player_says,
     CONTRACT_STOPPED},
    {"what_a_scenario_throws_unwinds_its_frames_to_who_catches_it",
     what_a_scenario_throws_unwinds_its_frames_to_who_catches_it, CONTRACT_STOPPED},
    {0},
};
