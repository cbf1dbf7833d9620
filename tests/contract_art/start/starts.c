/* Starts of a capture by the app: through the C functions of the library, through the Java class strobe.Strobe, and by
 * what the environment, a property or a file says when the library is loaded. The library is loaded as an app loads it,
 * so it has an engine of its own, separate from this program's. */
#include "engine/base/error.h"
#include "tests/contract_art/start/library.h"
#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/java.h"
#include "tests/unit/support/control_client.h"
#include "tests/unit/support/trial.h"

#include <dirent.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 40, LINES_GROWN = 8, STRING_LENGTH = 164, STRING_UTF_REGION = 221, NEW_STRING = 167 };

static enum strobe_capture_state state_now(void)
{
    struct strobe_capture_status s;
    start_library.get_status(&s);
    return s.state;
}

/* Opens the closed session at k->path and checks its accounting. The file is removed. */
static bool open_session(struct capture *k)
{
    enum strobe_status status = strobe_session_open(k->path, &k->session);
    k->open = status == STROBE_OK;
    unlink(k->path);
    return CHECK(k->contract, k->open, "%s: %s", k->path, strobe_status_text(status)) &&
           CHECK(k->contract, k->session.header->state == STROBE_SESSION_CLOSED, "a closed session");
}

static uint64_t annotations_of(const struct capture *k)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&k->session); i++)
        sum += strobe_load_relaxed(&k->session.threads[i].account[STROBE_KIND_ANNOTATION].sampled);
    return sum;
}

/* ---- by the C functions ---- */

static void an_app_captures_itself_pauses_and_annotates(struct contract *c)
{
    struct capture k = {.contract = c};
    struct strobe_error error = {""};
    if (!start_library_load(c))
        return;
    capture_call(c, "alloc", "(I)V", 1); /* the runtime links the method before allocations are counted */
    temporary_path(k.path, "starts.%d", (int)getpid());
    CHECK(c, state_now() == STROBE_CAPTURE_IDLE && start_library.stop() == STROBE_NO_ENTRY, "idle before the start");
    struct strobe_capture_options o = {.session_path = k.path, .paused = 1, .interval_ns = 2000000};
    if (!CHECK(c, start_library.start(&o, &error) == STROBE_OK, "%s", error.text))
        return;
    CHECK(c, state_now() == STROBE_CAPTURE_PAUSED, "begins paused");
    start_library.begin("in the pause");
    start_library.end();
    CHECK(c, start_library.resume() == STROBE_OK && state_now() == STROBE_CAPTURE_RUNNING, "resumed");
    start_library.begin("section");
    capture_call(c, "alloc", "(I)V", 1000);
    start_library.end();
    start_library.counter("count", 7);
    CHECK(c, start_library.stop() == STROBE_OK && state_now() == STROBE_CAPTURE_STOPPED, "stopped");
    if (!open_session(&k))
        return;
    CHECK(c, k.session.header->config.async_interval_ns == 2000000, "the interval of the options");
    CHECK(c, annotations_of(&k) == 3, "%llu annotations: one section and one value of a counter",
          (unsigned long long)annotations_of(&k));
    CHECK(c, capture_thread(&k, "") == UINT32_MAX, "every thread has a name");
    CHECK(c, k.session.names.head, "the session holds the names of methods");
    capture_drop(&k);
}

static int count_entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static int count_mappings(void)
{
    int lines = 0, byte;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && (byte = getc(f)) != EOF)
        lines += byte == '\n';
    if (f)
        fclose(f);
    return lines;
}

/* A capture's memory stays until the capture after the next starts, so the third start is the first that is compared.
 * The runtime maps memory of its own meanwhile, a few times in all rounds. */
static void captures_that_follow_each_other_leave_nothing_behind(struct contract *c)
{
    char path[TEMPORARY_BYTES];
    struct strobe_error error = {""};
    int descriptors = 0, threads = 0, mappings = 0;
    if (!start_library_load(c))
        return;
    temporary_path(path, "starts.%d", (int)getpid());
    struct strobe_capture_options o = {.session_path = path, .replace = 1, .records_max = 4096};
    for (int i = 0; i < ROUNDS; i++) {
        if (!CHECK(c, start_library.start(&o, &error) == STROBE_OK, "round %d: %s", i, error.text))
            break;
        capture_call(c, "alloc", "(I)V", 10);
        CHECK(c, start_library.stop() == STROBE_OK, "round %d", i);
        if (i == 2) {
            descriptors = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
            mappings = count_mappings();
        }
    }
    unlink(path);
    CHECK(c, count_entries("/proc/self/fd") == descriptors, "descriptors: %d of %d", count_entries("/proc/self/fd"),
          descriptors);
    CHECK(c, count_entries("/proc/self/task") <= threads, "threads: %d of %d", count_entries("/proc/self/task"),
          threads);
    CHECK(c, count_mappings() < mappings + LINES_GROWN, "mappings: %d of %d", count_mappings(), mappings);
}

static void check_refused(struct contract *c, const struct strobe_capture_options *o, enum strobe_status expected,
                          const char *text)
{
    struct strobe_error error = {""};
    enum strobe_status status = start_library.start(o, &error);
    CHECK(c, status == expected && strstr(error.text, text), "%s: %s", strobe_status_text(status), error.text);
    CHECK(c, state_now() == STROBE_CAPTURE_IDLE, "no capture runs");
}

static void a_start_that_cannot_make_its_session_says_why(struct contract *c)
{
    char path[TEMPORARY_BYTES], below[TEMPORARY_BYTES + 8];
    struct stat is;
    if (!start_library_load(c))
        return;
    temporary_path(path, "starts.%d", (int)getpid());
    snprintf(below, sizeof below, "%s/x", path);
    check_refused(c, NULL, STROBE_BAD_INPUT, "expected a path");
    check_refused(c, &(struct strobe_capture_options){.session_path = ""}, STROBE_BAD_INPUT, "expected the path");
    check_refused(c, &(struct strobe_capture_options){.session_path = path, .records_max = 3}, STROBE_BAD_INPUT,
                  "records_max: expected");
    check_refused(c, &(struct strobe_capture_options){.session_path = path, .interval_ns = 3}, STROBE_BAD_INPUT,
                  "interval_ns: expected");
    check_refused(c, &(struct strobe_capture_options){.session_path = below}, STROBE_IO, "there is no such folder");
    CHECK(c, stat(path, &is) != 0, "no file is made");
    FILE *f = fopen(path, "we");
    CHECK(c, f && fputs("mine", f) >= 0 && !fclose(f), "%s", path);
    check_refused(c, &(struct strobe_capture_options){.session_path = path}, STROBE_EXISTS, "exists already");
    check_refused(c, &(struct strobe_capture_options){.session_path = below}, STROBE_IO, "is no folder");
    CHECK(c, stat(path, &is) == 0 && is.st_size == 4, "the file is as it was");
    unlink(path);
}

static void a_start_beside_a_running_capture_leaves_its_session(struct contract *c)
{
    struct capture k = {.contract = c};
    struct strobe_error error = {""};
    struct stat before, after;
    if (!start_library_load(c))
        return;
    temporary_path(k.path, "starts.%d", (int)getpid());
    struct strobe_capture_options o = {.session_path = k.path, .replace = 1};
    if (!CHECK(c, start_library.start(&o, &error) == STROBE_OK, "%s", error.text))
        return;
    CHECK(c, stat(k.path, &before) == 0, "%s", k.path);
    CHECK(c, start_library.start(&o, &error) == STROBE_EXISTS && strstr(error.text, "under way"), "%s", error.text);
    CHECK(c, stat(k.path, &after) == 0 && before.st_ino == after.st_ino, "the session's file is the same");
    CHECK(c, start_library.stop() == STROBE_OK, "stopped");
    if (open_session(&k))
        capture_drop(&k);
}

/* ---- by the control server ---- */

static struct strobe_control_address server;

/* Sends a request; the answer has this status and contains the text. */
static void check_asked(struct contract *c, const char *method, const char *path, const char *body, int expected,
                        const char *text)
{
    char request[1024], answer[4096];
    snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", method, path, strlen(body),
             body);
    int status = strobe_client_ask(&server, request, answer, sizeof answer);
    CHECK(c, status == expected && strstr(answer, text), "%s %s: %d, expected %d and %s: %s", method, path, status,
          expected, text, answer);
}

/* Fetches the session that is being written, and opens the copy. Returns false, and fails the case, without one. */
static bool fetch_session(struct contract *c, const char *path, struct strobe_session *out)
{
    static char answer[8 << 20];
    static const char request[] = "GET /session HTTP/1.1\r\n\r\n";
    int fd = strobe_client_connect(&server);
    strobe_client_send(fd, request, sizeof request - 1);
    long bytes = strobe_client_finish(fd, answer, sizeof answer);
    const char *content = strstr(answer, "\r\n\r\n");
    FILE *f = fopen(path, "we");
    if (!CHECK(c, f && content && bytes > 0 && bytes < (long)sizeof answer, "%ld bytes", bytes))
        return false;
    content += 4;
    fwrite(content, 1, (size_t)(answer + bytes - content), f);
    fclose(f);
    enum strobe_status status = strobe_session_open(path, out);
    unlink(path);
    return CHECK(c, status == STROBE_OK, "%s", strobe_status_text(status));
}

static void check_fetched(struct contract *c, const char *path)
{
    struct strobe_session session;
    if (!fetch_session(c, path, &session))
        return;
    CHECK(c, session.header->state == STROBE_SESSION_RUNNING && strobe_session_thread_count(&session) > 0,
          "a running session with threads");
    strobe_session_unmap(&session);
}

static void a_client_of_the_control_server_stops_and_starts_captures(struct contract *c)
{
    enum { STARTS = 5 };
    struct capture k = {.contract = c};
    struct strobe_error error = {""};
    char fetched[TEMPORARY_BYTES];
    if (!start_library_load(c))
        return;
    temporary_path(k.path, "starts.%d", (int)getpid());
    temporary_path(fetched, "fetched.%d", (int)getpid());
    snprintf(server.name, sizeof server.name, "strobe-contract-%d", (int)getpid());
    struct strobe_capture_options o = {.session_path = k.path, .records_max = 4096, .control = server.name};
    if (!CHECK(c, start_library.start(&o, &error) == STROBE_OK, "%s", error.text))
        return;
    check_asked(c, "GET", "/status", "", 200, "\"state\":\"running\"");
    check_asked(c, "POST", "/pause", "", 200, "\"state\":\"paused\"");
    check_asked(c, "POST", "/resume", "", 200, "\"state\":\"running\"");
    check_asked(c, "POST", "/start", "", 409, "a capture is under way");
    capture_call(c, "alloc", "(I)V", 1000);
    check_fetched(c, fetched);
    check_asked(c, "POST", "/stop", "", 200, "\"state\":\"stopped\"");
    check_asked(c, "POST", "/stop", "", 409, "no capture is running");
    for (int i = 0; i < STARTS; i++) {
        check_asked(c, "POST", "/start", i ? "paused" : "", 200, i ? "\"state\":\"paused\"" : "\"state\":\"running\"");
        check_fetched(c, fetched);
        if (i == 2) /* the app may end what a client has begun, and begin another one */
            CHECK(c, start_library.stop() == STROBE_OK && start_library.start(&o, &error) == STROBE_EXISTS, "%s",
                  error.text);
        else
            check_asked(c, "POST", "/stop", "", 200, "\"state\":\"stopped\"");
    }
    check_asked(c, "GET", "/session/1", "", 404, "only the newest");
    if (open_session(&k))
        capture_drop(&k);
}

/* Returns how many names the session has for the address. */
static int count_names(const struct strobe_session *s, uint64_t address)
{
    struct strobe_named_address n;
    int count = 0;
    for (uint64_t at = 0; strobe_names_next(&s->names, &at, &n);)
        count += n.address == address;
    return count;
}

/* The session has a method with this text in its name, once. */
static void check_method_named(struct contract *c, const struct strobe_session *s, const char *text)
{
    struct strobe_named_address n;
    uint64_t found = 0;
    for (uint64_t at = 0; !found && strobe_names_next(&s->names, &at, &n);)
        found = memmem(n.text, n.bytes, text, strlen(text)) ? n.address : 0;
    CHECK(c, found && count_names(s, found) == 1, "%s: %d names", text, count_names(s, found));
}

static void a_session_fetched_from_a_running_capture_has_the_names_of_methods(struct contract *c)
{
    struct capture k = {.contract = c};
    struct strobe_error error = {""};
    struct strobe_session session;
    char fetched[TEMPORARY_BYTES];
    if (!start_library_load(c))
        return;
    temporary_path(k.path, "starts.%d", (int)getpid());
    temporary_path(fetched, "fetched.%d", (int)getpid());
    snprintf(server.name, sizeof server.name, "strobe-contract-%d", (int)getpid());
    struct strobe_capture_options o = {.session_path = k.path, .records_max = 4096, .control = server.name};
    if (!CHECK(c, start_library.start(&o, &error) == STROBE_OK, "%s", error.text))
        return;
    for (int i = 0; i < 3; i++) {
        java_static(c->art.env, "Main", "waitMs", "(J)V", &(union strobe_jvalue){.j = 10}); /* each wait is recorded */
        if (!fetch_session(c, fetched, &session))
            break;
        check_method_named(c, &session, "Main.waitMs");
        strobe_session_unmap(&session);
    }
    CHECK(c, start_library.stop() == STROBE_OK, "stopped");
    if (!open_session(&k))
        return;
    check_method_named(c, &k.session, "Main.waitMs");
    capture_drop(&k);
}

/* With FULL=1, as nightly, there are ten thousand. */
static void random_clients_leave_an_app_that_captures_itself_unharmed(struct contract *c)
{
    enum { QUICK = 100, FULL = 10000 };
    struct capture k = {.contract = c};
    struct strobe_error error = {""};
    char answer[4096], fetched[TEMPORARY_BYTES];
    uint64_t seed = 1;
    if (!start_library_load(c))
        return;
    temporary_path(k.path, "starts.%d", (int)getpid());
    temporary_path(fetched, "fetched.%d", (int)getpid());
    snprintf(server.name, sizeof server.name, "strobe-contract-%d", (int)getpid());
    struct strobe_capture_options o = {.session_path = k.path, .records_max = 4096, .control = server.name};
    if (!CHECK(c, start_library.start(&o, &error) == STROBE_OK, "%s", error.text))
        return;
    for (uint32_t i = 0; i < strobe_trial_nightly(QUICK, FULL); i++) {
        capture_call(c, "alloc", "(I)V", 10);
        int status = strobe_client_play(&server, &strobe_client_requests, &seed, answer, sizeof answer);
        CHECK(c, status == -1 || (200 <= status && status <= 503 && status != 500), "client %u: %d: %s", i, status,
              answer);
    }
    strobe_client_ask(&server, "POST /stop HTTP/1.1\r\n\r\n", answer, sizeof answer);
    check_asked(c, "POST", "/start", "records=4096", 200, "\"state\":\"running\"");
    capture_call(c, "alloc", "(I)V", 1000);
    check_fetched(c, fetched);
    check_asked(c, "POST", "/stop", "", 200, "\"state\":\"stopped\"");
    if (open_session(&k))
        capture_drop(&k);
}

static _Atomic int fetches_end;

static void *fetch_until_end(void *answers)
{
    char answer[256];
    while (!fetches_end)
        *(int *)answers += strobe_client_ask(&server, "GET /session HTTP/1.1\r\n\r\n", answer, sizeof answer) == 200;
    return NULL;
}

static void captures_end_and_start_while_a_client_fetches_their_sessions(struct contract *c)
{
    char path[TEMPORARY_BYTES];
    struct strobe_error error = {""};
    pthread_t client;
    int answers = 0;
    enum { FETCHED_ROUNDS = 8 };
    if (!start_library_load(c))
        return;
    temporary_path(path, "starts.%d", (int)getpid());
    snprintf(server.name, sizeof server.name, "strobe-contract-%d", (int)getpid());
    struct strobe_capture_options o = {.session_path = path, .replace = 1, .records_max = 4096, .control = server.name};
    for (int i = 0; i < FETCHED_ROUNDS; i++) {
        if (!CHECK(c, start_library.start(&o, &error) == STROBE_OK, "round %d: %s", i, error.text))
            break;
        if (i == 0)
            pthread_create(&client, NULL, fetch_until_end, &answers);
        java_static(c->art.env, "Main", "waitMs", "(J)V", &(union strobe_jvalue){.j = 2});
        CHECK(c, start_library.stop() == STROBE_OK, "round %d", i);
    }
    fetches_end = 1;
    pthread_join(client, NULL);
    CHECK(c, answers > 0, "%d sessions", answers);
    unlink(path);
}

/* ---- by the Java class ---- */

static void *jni_place(struct strobe_jni *env, int place)
{
    return strobe_jni_at(env, (enum strobe_jni_place)place);
}

static union strobe_jvalue java_text(struct strobe_jni *env, const char *text)
{
    strobe_jobject (*make)(struct strobe_jni *, const char *) =
        (strobe_jobject(*)(struct strobe_jni *, const char *))(uintptr_t)jni_place(env, NEW_STRING);
    return (union strobe_jvalue){.l = make(env, text)};
}

static void read_text(struct strobe_jni *env, strobe_jobject string, char *out, int32_t room)
{
    int32_t (*length)(struct strobe_jni *, strobe_jobject) =
        (int32_t(*)(struct strobe_jni *, strobe_jobject))(uintptr_t)jni_place(env, STRING_LENGTH);
    void (*copy)(struct strobe_jni *, strobe_jobject, int32_t, int32_t, char *) = (void (*)(
        struct strobe_jni *, strobe_jobject, int32_t, int32_t, char *))(uintptr_t)jni_place(env, STRING_UTF_REGION);
    memset(out, 0, (size_t)room);
    int32_t n = string ? length(env, string) : 0;
    copy(env, string, 0, n < room - 1 ? n : room - 1, out);
}

static union strobe_jvalue call_class(struct strobe_jni *env, const char *name, const char *signature,
                                      const union strobe_jvalue *arguments)
{
    return java_static(env, "strobe/Strobe", name, signature, arguments);
}

static strobe_jobject start_by_class(struct strobe_jni *env, const char *path, int32_t flags, int64_t interval_ns)
{
    const union strobe_jvalue arguments[] = {java_text(env, path), {.i = flags}, {.j = interval_ns}, {.i = 0}};
    return call_class(env, "startCapture", "(Ljava/lang/String;IJI)Ljava/lang/String;", arguments).l;
}

static void the_java_class_starts_annotates_pauses_and_stops(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    struct capture k = {.contract = c};
    char text[4096], name[400];
    enum { REPLACE = 1, PAUSED = 2 };
    if (!start_library_load(c))
        return;
    CHECK(c, call_class(env, "isBound", "()Z", NULL).z, "the library has bound its methods");
    temporary_path(k.path, "starts.%d", (int)getpid());
    read_text(env, start_by_class(env, k.path, 0, -1), text, sizeof text);
    CHECK(c, strstr(text, "not negative"), "%s", text);
    read_text(env, start_by_class(env, "", 0, 0), text, sizeof text);
    CHECK(c, strstr(text, "expected the path"), "%s", text);
    CHECK(c, !start_by_class(env, k.path, REPLACE | PAUSED, 0), "started");
    CHECK(c, state_now() == STROBE_CAPTURE_PAUSED, "begins paused");
    CHECK(c, call_class(env, "pauseCapture", "(Z)Z", &(union strobe_jvalue){.z = 0}).z, "resumed");
    CHECK(c, state_now() == STROBE_CAPTURE_RUNNING, "runs");
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    union strobe_jvalue long_name = java_text(env, name);
    call_class(env, "beginSection", "(Ljava/lang/String;)V", &long_name);
    call_class(env, "beginSection", "(Ljava/lang/String;)V", &(union strobe_jvalue){.l = NULL});
    call_class(env, "endSection", "()V", NULL);
    call_class(env, "endSection", "()V", NULL);
    const union strobe_jvalue counted[] = {java_text(env, "count"), {.j = 1}};
    call_class(env, "reportCounter", "(Ljava/lang/String;J)V", counted);
    call_class(env, "reportThreadCounter", "(Ljava/lang/String;J)V", counted);
    read_text(env, call_class(env, "describeCapture", "()Ljava/lang/String;", NULL).l, text, sizeof text);
    CHECK(c, strstr(text, "{\"state\":\"running\"") == text && text[strlen(text) - 1] == '}', "%s", text);
    CHECK(c, strstr(text, "\"annotations\":6") && strstr(text, "\"hooker\":\"detours\""), "%s", text);
    CHECK(c, call_class(env, "stopCapture", "()Z", NULL).z && !call_class(env, "stopCapture", "()Z", NULL).z,
          "stopped once");
    if (!open_session(&k))
        return;
    CHECK(c, annotations_of(&k) == 6, "%llu annotations", (unsigned long long)annotations_of(&k));
    capture_drop(&k);
}

static bool is_served(const char *name)
{
    char line[256], end[64];
    bool found = false;
    FILE *f = fopen("/proc/net/unix", "re");
    snprintf(end, sizeof end, " @%s\n", name);
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, end);
    if (f)
        fclose(f);
    return found;
}

static void the_java_class_begins_a_control_server_if_asked(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    struct capture k = {.contract = c};
    enum { CONTROL = 8 };
    if (!start_library_load(c))
        return;
    temporary_path(k.path, "starts.%d", (int)getpid());
    snprintf(server.name, sizeof server.name, "strobe.%d", (int)getpid());
    CHECK(c, !start_by_class(env, k.path, 0, 0), "started");
    CHECK(c, !is_served(server.name), "the flags ask for no server");
    CHECK(c, call_class(env, "stopCapture", "()Z", NULL).z, "stopped");
    unlink(k.path);
    CHECK(c, !start_by_class(env, k.path, CONTROL, 0) && is_served(server.name), "started with a server");
    check_asked(c, "GET", "/status", "", 200, "\"state\":\"running\"");
    check_asked(c, "POST", "/stop", "", 200, "\"state\":\"stopped\"");
    if (open_session(&k))
        capture_drop(&k);
}

/* ---- when the library is loaded ---- */

static const char *property = "";

/* Stands in for the C library's function on Android. The engine finds it by dlsym. */
int __system_property_get(const char *name, char *value);
int __system_property_get(const char *name, char *value)
{
    strcpy(value, strcmp(name, "debug.strobe.start") ? "" : property);
    return (int)strlen(value);
}

static void check_started_by_load(struct contract *c, const char *path, bool expected)
{
    struct stat is;
    CHECK(c, start_library.on_load(c->art.vm, NULL) == STROBE_JNI_VERSION, "the version of JNI");
    CHECK(c, (state_now() == STROBE_CAPTURE_RUNNING) == expected, "%s: state %d", path, (int)state_now());
    CHECK(c, (stat(path, &is) == 0) == expected, "%s", path);
    if (expected)
        CHECK(c, start_library.stop() == STROBE_OK, "stopped");
    unlink(path);
}

static void make_folders(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0700);
            *p = '/';
        }
}

static int remove_entry(const char *path, const struct stat *is, int kind, struct FTW *place)
{
    (void)is, (void)kind, (void)place;
    return remove(path);
}

static void write_text(struct contract *c, const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    CHECK(c, f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
}

/* Stores this process's name, as the engine reads it: the first argument. */
static void read_name(char *name, size_t bytes)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t n = f ? fread(name, 1, bytes - 1, f) : 0;
    name[n] = '\0';
    if (f)
        fclose(f);
}

static void a_load_starts_what_environment_property_or_file_ask_for(struct contract *c)
{
    char data[TEMPORARY_BYTES], name[200], file[TEMPORARY_BYTES + 256], session[TEMPORARY_BYTES + 512], text[512];
    char by_property[92];
    if (!start_library_load(c))
        return;
    CHECK(c, state_now() == STROBE_CAPTURE_IDLE, "nothing asks for a capture");
    temporary_path(data, "starts.data.%d", (int)getpid());
    read_name(name, sizeof name);
    setenv("STROBE_DATA", data, 1);
    snprintf(file, sizeof file, "%s/%s/files/strobe.start", data, name);
    make_folders(file);

    snprintf(session, sizeof session, "%s/by-environment.%d", data, (int)getpid());
    snprintf(text, sizeof text, "path=%s/by-environment.{pid} records=4096", data);
    setenv("STROBE_START", text, 1);
    check_started_by_load(c, session, true);
    setenv("STROBE_START", "records=many", 1);
    check_started_by_load(c, session, false);
    unsetenv("STROBE_START");

    snprintf(session, sizeof session, "%s/%s/files/%s.strobe", data, name, name);
    make_folders(session);
    if (snprintf(by_property, sizeof by_property, "%s interval=2ms", name) < (int)sizeof by_property) {
        property = by_property;
        check_started_by_load(c, session, true);
        property = "org.other interval=2ms";
        check_started_by_load(c, session, false);
        property = "";
    }
    char long_text[1025];
    memset(long_text, ' ', sizeof long_text - 1);
    memcpy(long_text + sizeof long_text - 1 - strlen("records=40960"), "records=40960", strlen("records=40960"));
    long_text[sizeof long_text - 1] = '\0';
    write_text(c, file, long_text); /* a cut text could be read as another one */
    check_started_by_load(c, session, false);
    write_text(c, file, "interval=2ms\nkeep=oldest\n");
    check_started_by_load(c, session, true);
    unlink(file);
    check_started_by_load(c, session, false);
    nftw(data, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const struct contract_case contract_cases_starts[] = {
    {"an_app_captures_itself_pauses_and_annotates", an_app_captures_itself_pauses_and_annotates, 0},
    {"captures_that_follow_each_other_leave_nothing_behind", captures_that_follow_each_other_leave_nothing_behind,
     CONTRACT_HEAVY},
    {"a_start_that_cannot_make_its_session_says_why", a_start_that_cannot_make_its_session_says_why, 0},
    {"a_start_beside_a_running_capture_leaves_its_session", a_start_beside_a_running_capture_leaves_its_session, 0},
    {"a_client_of_the_control_server_stops_and_starts_captures",
     a_client_of_the_control_server_stops_and_starts_captures, 0},
    {"a_session_fetched_from_a_running_capture_has_the_names_of_methods",
     a_session_fetched_from_a_running_capture_has_the_names_of_methods, 0},
    {"captures_end_and_start_while_a_client_fetches_their_sessions",
     captures_end_and_start_while_a_client_fetches_their_sessions, CONTRACT_HEAVY},
    {"random_clients_leave_an_app_that_captures_itself_unharmed",
     random_clients_leave_an_app_that_captures_itself_unharmed, CONTRACT_HEAVY},
    {"the_java_class_starts_annotates_pauses_and_stops", the_java_class_starts_annotates_pauses_and_stops, 0},
    {"the_java_class_begins_a_control_server_if_asked", the_java_class_begins_a_control_server_if_asked, 0},
    {"a_load_starts_what_environment_property_or_file_ask_for", a_load_starts_what_environment_property_or_file_ask_for,
     0},
    {0},
};
