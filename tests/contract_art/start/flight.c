/* The flight recorder in an app: a hang and a SIGQUIT leave a dump. */
#include "tests/contract_art/start/library.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/control_client.h"

#include "engine/store/session.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP_MS = 20, PATIENCE_MS = 20000, OUTPUT_BYTES = 8192 };

/* ---- a recorder with a folder of its own */

struct recorder {
    struct contract *c;
    char folder[TEMPORARY_BYTES], config[TEMPORARY_BYTES], dump[TEMPORARY_BYTES + 32];
};

static bool write_config(struct contract *c, const char *settings, struct recorder *r)
{
    *r = (struct recorder){.c = c};
    temporary_path(r->folder, "dumps.%d", (int)getpid());
    temporary_path(r->config, "flight.%d", (int)getpid());
    snprintf(r->dump, sizeof r->dump, "%s/dump-00.strobe", r->folder);
    FILE *f = fopen(r->config, "we");
    return CHECK(c, f && fprintf(f, "folder = %s\nfree-bytes = 1K\n%s", r->folder, settings) > 0 && !fclose(f), "%s",
                 r->config);
}

static struct strobe_control_address server;

static bool open_recorder(struct contract *c, const char *settings, struct recorder *r)
{
    struct strobe_error error = {""};
    if (!write_config(c, settings, r))
        return false;
    snprintf(server.name, sizeof server.name, "strobe-contract-%d", (int)getpid());
    struct strobe_capture_options o = {.flight = r->config, .records_max = 8192, .control = server.name};
    return CHECK(c, start_library.start(&o, &error) == STROBE_OK, "%s", error.text);
}

static void close_recorder(struct recorder *r)
{
    static const char *const names[] = {"dump-00.strobe", ".day", ".lock", ".partial", ".day.partial"};
    char path[TEMPORARY_BYTES + 32];
    CHECK(r->c, start_library.stop() == STROBE_OK, "stopped");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", r->folder, names[i]);
        unlink(path);
    }
    CHECK(r->c, rmdir(r->folder) == 0, "there is one dump in %s", r->folder);
    unlink(r->config);
}

static bool await_dump(const struct recorder *r)
{
    struct stat is;
    for (int ms = 0; ms < PATIENCE_MS && stat(r->dump, &is) != 0; ms += STEP_MS)
        workload_pause(STEP_MS);
    return stat(r->dump, &is) == 0;
}

/* The control server's status has the cause of the dump, and its bytes as those of today. A dump is complete when no
 * dump is being written. */
static void check_status_has_dump(const struct recorder *r, const char *cause)
{
    char answer[4096], expected[256];
    struct stat is;
    bool has = false;
    for (int ms = 0; ms < PATIENCE_MS && !has; ms += STEP_MS) {
        memset(&is, 0, sizeof is);
        stat(r->dump, &is); /* a dump that is absent has no bytes, and the answer says why */
        snprintf(expected, sizeof expected,
                 "\"dumps\":1,\"refused\":0,\"writing\":\"\",\"cause\":\"%s\",\"bytes_today\":%lld,", cause,
                 (long long)is.st_size);
        int status = strobe_client_ask(&server, "GET /status HTTP/1.1\r\n\r\n", answer, sizeof answer);
        has = status == 200 && strstr(answer, expected);
        workload_pause(STEP_MS);
    }
    CHECK(r->c, has, "expected %s: %s", expected, answer);
}

/* Runs `strobe report --findings --json`, and returns whether its output has the text. */
static bool findings_have(const struct recorder *r, const char *text, char output[OUTPUT_BYTES])
{
    const char *build = getenv("B");
    char command[2 * TEMPORARY_BYTES + 128];
    snprintf(command, sizeof command, "%s/strobe report --findings --json %s 2>&1", build ? build : "build", r->dump);
    FILE *f = popen(command, "re");
    size_t n = f ? fread(output, 1, OUTPUT_BYTES - 1, f) : 0;
    if (f)
        pclose(f);
    output[n] = '\0';
    return strstr(output, text) != NULL;
}

/* ---- a hang */

static struct {
    struct recorder r;
    strobe_jobject lock;
    atomic_int held, hangs, read, released;
    bool there, named, hung, methods;
    char output[OUTPUT_BYTES];
} hang;

/* Main.sample(int); Main.deep(0) calls it. */
static void hang_or_hold(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    if (gettid() == getpid()) {
        hang.hangs = 1;
        java_enter(env, hang.lock);
        hang.hangs = 0;
        java_exit(env, hang.lock);
        return;
    }
    java_enter(env, hang.lock);
    hang.held = 1;
    for (int ms = 0; ms < 2 * PATIENCE_MS && !hang.read; ms += STEP_MS)
        workload_pause(STEP_MS);
    java_exit(env, hang.lock);
    hang.released = 1;
}

static void hold_the_lock(struct strobe_jni *env, void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "holder");
    java_static(env, "Main", "deep", "(I)V", (union strobe_jvalue[]){{.i = 0}});
}

/* Reads the dump while the main thread hangs. The names of methods come a moment after the dump. */
static void *read_dump_of_hang(void *unused)
{
    (void)unused;
    hang.there = await_dump(&hang.r);
    hang.named = findings_have(&hang.r, ", lock held by thread holder (", hang.output) &&
                 strstr(hang.output, "stall: thread main in [monitor wait]");
    for (int ms = 0; ms < PATIENCE_MS && !hang.methods && hang.hangs; ms += STEP_MS) {
        hang.methods = findings_have(&hang.r, "Main.deep(int)", hang.output);
        workload_pause(STEP_MS);
    }
    hang.hung = hang.hangs && !hang.released;
    hang.read = 1;
    return NULL;
}

static void a_hang_leaves_a_dump_that_names_the_holder_while_it_lasts(struct contract *c)
{
    struct java_thread holder;
    pthread_t reader;
    if (!start_library_load(c))
        return;
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)hang_or_hold);
    hang.lock = java_new(c->art.env, "java/lang/Object");
    if (!open_recorder(c, "stall = 1s\n", &hang.r))
        return;
    java_thread_start(&holder, c->art.vm, hold_the_lock, NULL);
    while (!hang.held)
        workload_pause(1);
    pthread_create(&reader, NULL, read_dump_of_hang, NULL);
    java_static(c->art.env, "Main", "deep", "(I)V", (union strobe_jvalue[]){{.i = 0}});
    pthread_join(reader, NULL);
    java_thread_join(&holder);
    CHECK(c, hang.there, "a dump");
    CHECK(c, hang.named, "the holder is named: %s", hang.output);
    CHECK(c, hang.methods, "methods are named: %s", hang.output);
    CHECK(c, hang.hung, "the main thread hangs while the dump is read");
    close_recorder(&hang.r);
}

/* ---- SIGQUIT */

static atomic_int handled, caught, catcher_ready;

static void on_app_quit(int number)
{
    handled += number == SIGQUIT;
}

static void *catch_signals(void *unused)
{
    sigset_t quit;
    int number;
    (void)unused;
    prctl(PR_SET_NAME, "Signal Catcher");
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    catcher_ready = 1;
    while (sigwait(&quit, &number) == 0)
        caught += number == SIGQUIT;
    return NULL;
}

static bool waits_for(atomic_int *count, int number)
{
    for (int ms = 0; ms < PATIENCE_MS && *count < number; ms += STEP_MS)
        workload_pause(STEP_MS);
    return *count == number;
}

static void check_cause(const struct recorder *r, enum strobe_trigger trigger)
{
    struct strobe_session session;
    if (!CHECK(r->c, await_dump(r), "a dump") ||
        !CHECK(r->c, strobe_session_open(r->dump, &session) == STROBE_OK, "a session"))
        return;
    CHECK(r->c, session.header->cause.trigger == trigger, "trigger %u", session.header->cause.trigger);
    strobe_session_unmap(&session);
}

static void check_disposition(struct contract *c, void (*expected)(int), int blocked)
{
    struct sigaction now;
    sigset_t mask;
    sigaction(SIGQUIT, NULL, &now);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    CHECK(c, now.sa_handler == expected, "the disposition is as before");
    CHECK(c, sigismember(&mask, SIGQUIT) == blocked, "blocked as before");
}

static void block_quit(void)
{
    sigset_t quit;
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &quit, NULL);
}

static void sigquit_is_dumped_and_passed_on_to_the_handler_from_before(struct contract *c)
{
    struct recorder r;
    if (!start_library_load(c))
        return;
    block_quit();
    signal(SIGQUIT, on_app_quit);
    if (!open_recorder(c, "triggers = anr\n", &r))
        return;
    kill(getpid(), SIGQUIT);
    CHECK(c, waits_for(&handled, 1), "the handler is called once: %d", handled);
    check_cause(&r, STROBE_TRIGGER_ANR);
    check_status_has_dump(&r, "anr");
    close_recorder(&r);
    check_disposition(c, on_app_quit, 1);
}

/* A genuine runtime has a signal catcher, which writes the stacks to a file; a fake gets one. */
static void sigquit_is_dumped_and_passed_on_to_the_signal_catcher(struct contract *c)
{
    struct recorder r;
    pthread_t catcher;
    if (!start_library_load(c))
        return;
    block_quit();
    pthread_create(&catcher, NULL, catch_signals, NULL);
    CHECK(c, waits_for(&catcher_ready, 1), "the catcher runs");
    if (!open_recorder(c, "triggers = anr\n", &r))
        return;
    kill(getpid(), SIGQUIT);
    CHECK(c, waits_for(&caught, 1), "the catcher gets the signal once: %d", caught);
    check_cause(&r, STROBE_TRIGGER_ANR);
    check_status_has_dump(&r, "anr");
    close_recorder(&r);
    check_disposition(c, SIG_DFL, 1);
}

/* ---- repetition */

static void recorders_that_follow_each_other_each_write_their_dump(struct contract *c)
{
    enum { ROUNDS = 5 };
    struct recorder r;
    if (!start_library_load(c))
        return;
    CHECK(c, start_library.dump() == STROBE_NO_ENTRY, "without a recorder there is no dump");
    for (int i = 0; i < ROUNDS && open_recorder(c, "", &r); i++) {
        CHECK(c, start_library.dump() == STROBE_OK, "round %d", i);
        check_cause(&r, STROBE_TRIGGER_CALL);
        close_recorder(&r);
        CHECK(c, start_library.dump() == STROBE_NO_ENTRY, "after the end there is no dump");
    }
}

/* ---- the Java class */

static void the_java_class_starts_a_recorder_and_asks_for_a_dump(struct contract *c)
{
    enum { NEW_STRING = 167 };
    struct strobe_jni *env = c->art.env;
    struct recorder r;
    if (!start_library_load(c) || !write_config(c, "", &r))
        return;
    strobe_jobject (*make)(struct strobe_jni *, const char *) = (strobe_jobject(*)(struct strobe_jni *, const char *))(
        uintptr_t)strobe_jni_at(env, (enum strobe_jni_place)NEW_STRING);
    const union strobe_jvalue config = {.l = make(env, r.config)}, nowhere = {.l = make(env, "/nowhere")};
    static const char signature[] = "(Ljava/lang/String;)Ljava/lang/String;";
    CHECK(c, java_static(env, "strobe/Strobe", "startRecorder", signature, &nowhere).l, "a reason");
    CHECK(c, !java_static(env, "strobe/Strobe", "dumpNow", "()Z", NULL).z, "there is no recorder");
    CHECK(c, !java_static(env, "strobe/Strobe", "startRecorder", signature, &config).l, "no reason");
    CHECK(c, java_static(env, "strobe/Strobe", "dumpNow", "()Z", NULL).z, "a dump");
    check_cause(&r, STROBE_TRIGGER_CALL);
    close_recorder(&r);
}

const struct contract_case contract_cases_flight[] = {
    {"the_java_class_starts_a_recorder_and_asks_for_a_dump", the_java_class_starts_a_recorder_and_asks_for_a_dump, 0},
    {"a_hang_leaves_a_dump_that_names_the_holder_while_it_lasts",
     a_hang_leaves_a_dump_that_names_the_holder_while_it_lasts, 0},
    {"sigquit_is_dumped_and_passed_on_to_the_handler_from_before",
     sigquit_is_dumped_and_passed_on_to_the_handler_from_before, CONTRACT_FAKE},
    {"sigquit_is_dumped_and_passed_on_to_the_signal_catcher", sigquit_is_dumped_and_passed_on_to_the_signal_catcher,
     CONTRACT_FAKE},
    {"recorders_that_follow_each_other_each_write_their_dump", recorders_that_follow_each_other_each_write_their_dump,
     0},
    {0},
};
