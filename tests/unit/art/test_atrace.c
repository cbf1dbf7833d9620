/* The atrace proxy for three versions of libcutils, called by a library as an app calls it. Exactly the text for the
 * trace marker goes to the ring, and removal restores the slots. */
#include "engine/base/error.h"
#include "engine/capture/thread.h"
#include "engine/method/rhea/art/rhea.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The app: calls through its own slots. */
static const char app_source[] =
    "#include <fcntl.h>\n#include <sys/uio.h>\n#include <unistd.h>\n"
    "void atrace_begin_body(const char *); void atrace_end_body(void) __attribute__((weak));\n"
    "void app_begin(const char *n) { atrace_begin_body(n); }\n"
    "void app_end(void) { atrace_end_body(); }\n"
    "long app_write(int fd, const void *b, unsigned long n) { return write(fd, b, n); }\n"
    "long app_read(int fd, void *b, unsigned long n) { return read(fd, b, n); }\n"
    "long app_pread(int fd, void *b, unsigned long n, long at) { return pread(fd, b, n, at); }\n"
    "long app_pwrite(int fd, const void *b, unsigned long n, long at) { return pwrite(fd, b, n, at); }\n"
    "long app_readv(int fd, const struct iovec *v, int n) { return readv(fd, v, n); }\n"
    "int app_open(const char *p, int flags, int mode) { return open(p, flags, mode); }\n"
    "int app_fsync(int fd) { return fsync(fd); }\n"
    "int app_fdatasync(int fd) { return fdatasync(fd); }\n"
    "void app_sync(void) { sync(); }\n"
    "long __read_chk(int, void *, unsigned long, unsigned long);\n"
    "long app_read_chk(int fd, void *b, unsigned long n) { return __read_chk(fd, b, n, n); }\n"
    "long pread64(int, void *, unsigned long, long), pwrite64(int, const void *, unsigned long, long);\n"
    "long __pread_chk(int, void *, unsigned long, long, unsigned long);\n"
    "long __pread64_chk(int, void *, unsigned long, long, unsigned long);\n"
    "int open64(const char *, int, ...), __open_2(const char *, int), __open64_2(const char *, int);\n"
    "long app_pread64(int fd, void *b, unsigned long n, long at) { return pread64(fd, b, n, at); }\n"
    "long app_pwrite64(int fd, const void *b, unsigned long n, long at) { return pwrite64(fd, b, n, at); }\n"
    "long app_pread_chk(int fd, void *b, unsigned long n, long at) { return __pread_chk(fd, b, n, at, n); }\n"
    "long app_pread64_chk(int fd, void *b, unsigned long n, long at) { return __pread64_chk(fd, b, n, at, n); }\n"
    "int app_open64(const char *p, int flags, int mode) { return open64(p, flags, mode); }\n"
    "int app_open_2(const char *p, int flags) { return __open_2(p, flags); }\n"
    "int app_open64_2(const char *p, int flags) { return __open64_2(p, flags); }\n";

static struct app {
    void *cutils, *library;
    uint64_t *tags;
    int *marker;
    void (*begin)(const char *), (*end)(void);
    void (*async_begin)(const char *, int32_t), (*counter)(const char *, int32_t);
    long (*write)(int, const void *, unsigned long), (*read)(int, void *, unsigned long);
    long (*pread)(int, void *, unsigned long, long), (*pwrite)(int, const void *, unsigned long, long);
    long (*readv)(int, const struct iovec *, int), (*read_chk)(int, void *, unsigned long);
    int (*open)(const char *, int, int), (*fsync)(int), (*fdatasync)(int);
    void (*sync)(void);
    char path[512];
} app;

static void *find(void *library, const char *name)
{
    void *at = dlsym(library, name);
    assert_non_null(at);
    return at;
}

#define FIND(library, to, name)                                                                                        \
    do {                                                                                                               \
        void *at_ = find(library, name);                                                                               \
        memcpy(&(to), &at_, sizeof at_);                                                                               \
    } while (0)

static const char *marker_path(void)
{
    return temp_dir_path("marker");
}

/* Loads a libcutils of that age and the app on top of it. */
static void load_fresh(int level, bool real_marker)
{
    const char *built = getenv("B");
    unlink(marker_path());
    if (real_marker)
        setenv("STROBE_FAKE_MARKER", marker_path(), 1);
    else
        unsetenv("STROBE_FAKE_MARKER");
    snprintf(app.path, sizeof app.path, "%s/cutils/%d/libcutils.so", built ? built : "build", level);
    app.cutils = dlopen(app.path, RTLD_NOW | RTLD_GLOBAL);
    if (!app.cutils)
        fail_msg("%s", dlerror());
    /* Binds all symbols immediately, as Android's loader does. */
    app.library = dlopen(temp_dir_path("libapp.so"), RTLD_NOW | RTLD_LOCAL);
    if (!app.library)
        fail_msg("%s", dlerror());
    app.tags = find(app.cutils, "atrace_enabled_tags");
    app.marker = find(app.cutils, "atrace_marker_fd");
    FIND(app.cutils, app.async_begin, "atrace_async_begin_body");
    FIND(app.cutils, app.counter, "atrace_int_body");
    FIND(app.library, app.begin, "app_begin");
    FIND(app.library, app.end, "app_end");
    FIND(app.library, app.write, "app_write");
    FIND(app.library, app.read, "app_read");
    FIND(app.library, app.pread, "app_pread");
    FIND(app.library, app.pwrite, "app_pwrite");
    FIND(app.library, app.readv, "app_readv");
    FIND(app.library, app.read_chk, "app_read_chk");
    FIND(app.library, app.open, "app_open");
    FIND(app.library, app.fsync, "app_fsync");
    FIND(app.library, app.fdatasync, "app_fdatasync");
    FIND(app.library, app.sync, "app_sync");
}

/* Loads both, and initializes libcutils as its first use does. */
static void load(int level, bool real_marker)
{
    load_fresh(level, real_marker);
    void (*set_up)(void);
    FIND(app.cutils, set_up, "atrace_setup");
    set_up();
}

static void start(const struct strobe_rhea_options *options)
{
    struct strobe_rhea_options o = *options;
    struct strobe_error error = {""};
    o.cutils = app.path;
    if (o.slots == 0)
        o.slots = 10000;
    enum strobe_status status = strobe_rhea_start(&o, &error);
    if (status != STROBE_OK)
        fail_msg("%s: %s", strobe_status_text(status), error.text);
}

static int unload(void **state)
{
    (void)state;
    strobe_rhea_stop();
    strobe_rhea_release();
    if (app.library)
        dlclose(app.library);
    if (app.cutils) {
        if (*app.marker >= 0)
            close(*app.marker);
        dlclose(app.cutils);
    }
    app = (struct app){0};
    return 0;
}

/* The log's lines between its head and its end, without their times. "+" stands for the thread where the line has
 * one. */
static struct {
    char text[64][1200];
    char *line[64];
    size_t count;
    uint64_t lost;
} seen;

static void read_log(void)
{
    const char *path = temp_dir_path("log");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct strobe_rhea_log_stats stats;
    assert_true(fd >= 0);
    assert_int_equal(strobe_rhea_dump(fd, 6, &stats), STROBE_OK);
    close(fd);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char line[1400];
    double last = 0;
    seen.count = 0;
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(strncmp(line, "1|TRACE_START|", 14), 0);
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(strncmp(line, "monotonic_time: ", 16), 0);
    while (fgets(line, sizeof line, f) && line[0] != '#' && strncmp(line, "2|TRACE_END|", 12) != 0) {
        char *rest, *text;
        double at = strtod(line, &rest);
        assert_true(at >= last && at > 0);
        last = at;
        strtoul(rest, &text, 10);
        assert_int_equal(text[0], ':');
        line[strcspn(line, "\n")] = 0;
        assert_in_range(seen.count, 0, 63);
        seen.line[seen.count] = seen.text[seen.count];
        snprintf(seen.text[seen.count++], sizeof seen.text[0], "%s%s", text == rest ? "" : "+", text + 2);
    }
    fclose(f);
    assert_int_equal(stats.lines, seen.count);
    seen.lost = stats.packets_lost;
}

/* Asserts the lines; %d stands for the process. */
static void must_be(const char *const *expected)
{
    size_t i = 0;
    read_log();
    for (; expected[i]; i++) {
        char line[1200];
        const char *d = strstr(expected[i], "%d");
        if (d)
            snprintf(line, sizeof line, "%.*s%d%s", (int)(d - expected[i]), expected[i], getpid(), d + 2);
        else
            snprintf(line, sizeof line, "%s", expected[i]);
        assert_true(i < seen.count);
        assert_string_equal(seen.line[i], line);
    }
    assert_int_equal(seen.count, i);
}

#define MUST_BE(...) must_be((const char *const[]){__VA_ARGS__, NULL})

static size_t marker_bytes(void)
{
    size_t bytes = 0;
    char *text = temp_dir_read("marker", &bytes);
    free(text);
    return bytes;
}

/* ---- messages */

static const int levels[] = {25, 26, 30};

/* Ends a section as the inline functions of that level's header do. */
static void end_at(int level)
{
    if (level >= 26)
        app.end();
    else
        app.write(*app.marker, "E", 1);
}

static void begins_and_ends_go_to_the_ring_and_not_to_the_marker_at_every_age(void **state)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        load(levels[i], true);
        start(&(struct strobe_rhea_options){0});
        app.begin("inflate");
        app.begin("a|b:c");
        end_at(levels[i]);
        end_at(levels[i]);
        strobe_rhea_stop();
        const char *end = levels[i] >= 26 ? "+E|%d" : "+E";
        MUST_BE("+B|%d|inflate", "+B|%d|a|b:c", end, end);
        assert_int_equal(marker_bytes(), 0);
        app.begin("after");
        assert_true(marker_bytes() > 0);
        unload(state);
    }
}

static void without_a_marker_an_invalid_descriptor_stands_for_it_during_a_capture(void **state)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        load(levels[i], false);
        assert_int_equal(*app.marker, -1);
        start(&(struct strobe_rhea_options){0});
        assert_int_equal(*app.marker, -100);
        app.begin("inflate");
        end_at(levels[i]);
        app.counter("heap", 3);
        strobe_rhea_stop();
        assert_int_equal(*app.marker, -1);
        MUST_BE("+B|%d|inflate", levels[i] >= 26 ? "+E|%d" : "+E");
        unload(state);
    }
}

static void tags_are_exchanged_and_put_back(void **state)
{
    (void)state;
    setenv("STROBE_FAKE_TAGS", "0x8000000010", 1);
    load(26, false);
    unsetenv("STROBE_FAKE_TAGS");
    assert_int_equal(*app.tags, 0x8000000010u);
    start(&(struct strobe_rhea_options){0});
    assert_int_equal(*app.tags, STROBE_RHEA_TAGS);
    assert_int_equal(STROBE_RHEA_TAGS, 0x707a);
    strobe_rhea_stop();
    assert_int_equal(*app.tags, 0x8000000010u);
    start(&(struct strobe_rhea_options){.tags = UINT64_C(1) << 40 | 1});
    assert_int_equal(*app.tags, UINT64_C(1) << 40 | 1);
    strobe_rhea_stop();
    assert_int_equal(*app.tags, 0x8000000010u);
}

static void a_capture_may_begin_before_libcutils_was_ever_used(void **state)
{
    (void)state;
    setenv("STROBE_FAKE_TAGS", "0x10", 1);
    load_fresh(26, false);
    start(&(struct strobe_rhea_options){0});
    void (*set_up)(void);
    FIND(app.cutils, set_up, "atrace_setup");
    set_up();
    unsetenv("STROBE_FAKE_TAGS");
    assert_int_equal(*app.tags, STROBE_RHEA_TAGS);
    assert_int_equal(*app.marker, -100);
    strobe_rhea_stop();
    assert_int_equal(*app.tags, 0x10);
}

static void tags_that_others_have_set_meanwhile_are_left_alone(void **state)
{
    (void)state;
    load(26, false);
    start(&(struct strobe_rhea_options){0});
    *app.tags = 77;
    *app.marker = 1000;
    strobe_rhea_stop();
    assert_int_equal(*app.tags, 77);
    assert_int_equal(*app.marker, 1000);
    *app.marker = -1;
}

static void other_kinds_are_passed_by_counted_and_still_reach_a_real_marker(void **state)
{
    char expected[64];
    size_t bytes;
    (void)state;
    load(30, true);
    start(&(struct strobe_rhea_options){0});
    app.async_begin("load", 5);
    app.counter("heap", 3);
    app.begin("x");
    strobe_rhea_stop();
    MUST_BE("+B|%d|x");
    assert_int_equal(strobe_atrace_count(&strobe_rhea_newest->atrace.ring, STROBE_ATRACE_HEAD_PASSED), 2);
    char *text = temp_dir_read("marker", &bytes);
    snprintf(expected, sizeof expected, "S|%d|load|5C|%d|heap|3", getpid(), getpid());
    assert_string_equal(text, expected);
    free(text);
}

static void with_forward_messages_go_both_ways(void **state)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        char expected[64];
        size_t bytes;
        load(levels[i], true);
        start(&(struct strobe_rhea_options){.forward = true});
        app.begin("x");
        strobe_rhea_stop();
        MUST_BE("+B|%d|x");
        char *text = temp_dir_read("marker", &bytes);
        snprintf(expected, sizeof expected, "B|%d|x", getpid());
        assert_string_equal(text, expected);
        free(text);
        unload(state);
    }
}

static void a_message_that_is_too_long_is_cut_and_counted_and_its_end_stays(void **state)
{
    char name[2000];
    (void)state;
    load(26, true);
    start(&(struct strobe_rhea_options){0});
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    app.begin(name);
    app.end();
    name[STROBE_ATRACE_TEXT_MAX - (size_t)snprintf(NULL, 0, "B|%d|", getpid())] = 0;
    app.begin(name);
    app.end();
    strobe_rhea_stop();
    read_log();
    assert_int_equal(seen.count, 4);
    assert_int_equal(strlen(seen.line[0]), 1 + STROBE_ATRACE_TEXT_MAX);
    assert_int_equal(strlen(seen.line[2]), 1 + STROBE_ATRACE_TEXT_MAX);
    assert_int_equal(strobe_atrace_count(&strobe_rhea_newest->atrace.ring, STROBE_ATRACE_HEAD_CUT), 1);
}

static void marks_of_methods_are_reported_with_their_prefixes(void **state)
{
    (void)state;
    strobe_rhea_enter("nobody listens");
    load(26, false);
    start(&(struct strobe_rhea_options){0});
    strobe_rhea_enter("a.B.c");
    strobe_rhea_throw("a.B.c");
    strobe_rhea_leave("a.B.c");
    strobe_rhea_stop();
    strobe_rhea_enter("nobody listens");
    MUST_BE("+B|%d|B:a.B.c", "+B|%d|T:a.B.c", "+B|%d|E:a.B.c");
}

static void the_engines_own_threads_are_not_recorded(void **state)
{
    (void)state;
    load(26, true);
    start(&(struct strobe_rhea_options){.io = true});
    strobe_local.busy = 1;
    app.begin("of ours");
    strobe_local.busy = 0;
    strobe_rhea_stop();
    read_log();
    assert_int_equal(seen.count, 0);
    assert_true(marker_bytes() > 0);
}

/* ---- threads */

static int level_of_thread;

static void *other_thread(void *arg)
{
    (void)arg;
    app.begin("other");
    end_at(level_of_thread);
    strobe_rhea_enter("other");
    return NULL;
}

static void run_other_thread(int level)
{
    pthread_t thread;
    level_of_thread = level;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, NULL);
}

static void main_only_leaves_other_threads_out_at_both_levels(void **state)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        load(levels[i], true);
        start(&(struct strobe_rhea_options){.main_only = true});
        app.begin("main");
        run_other_thread(levels[i]);
        app.write(*app.marker, "B|1|inlined", 11);
        end_at(levels[i]);
        strobe_rhea_stop();
        MUST_BE("B|%d|main", "B|1|inlined", levels[i] >= 26 ? "E|%d" : "E");
        assert_int_equal(strobe_atrace_count(&strobe_rhea_newest->atrace.ring, STROBE_ATRACE_HEAD_ELSEWHERE), 3);
        assert_int_equal(marker_bytes(), 0);
        unload(state);
    }
}

static void all_threads_are_distinguished_by_their_ids(void **state)
{
    (void)state;
    load(26, true);
    start(&(struct strobe_rhea_options){0});
    app.begin("main");
    run_other_thread(26);
    strobe_rhea_stop();
    MUST_BE("+B|%d|main", "+B|%d|other", "+E|%d", "+B|%d|B:other");
    size_t bytes;
    char own[32], *text = temp_dir_read("log", &bytes), *other = strstr(text, "other");
    snprintf(own, sizeof own, " %d: B|", getpid());
    assert_non_null(strstr(text, own));
    assert_true(strstr(text, own) < other);
    assert_null(strstr(other, own));
    free(text);
}

static void a_forked_child_writes_nothing_to_its_parents_ring(void **state)
{
    (void)state;
    if (strobe_trial_emulated())
        skip(); /* the emulator does not wipe memory on fork */
    load(26, false);
    start(&(struct strobe_rhea_options){.ring_path = temp_dir_path("forked.ring")});
    app.begin("parent");
    pid_t child = fork();
    if (child == 0) {
        app.begin("child");
        strobe_rhea_enter("child");
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    strobe_rhea_stop();
    MUST_BE("+B|%d|parent");
}

/* ---- files */

static char block[4096];

static const char *expected_label(const char *form, const char *path)
{
    static char labels[16][700];
    static int next;
    char *label = labels[next++ % 16];
    char full[600];
    assert_non_null(realpath(path, full));
    snprintf(label, sizeof labels[0], form, full);
    return label;
}

static void files_are_reported_by_name_with_size_and_offset(void **state)
{
    const char *path = temp_dir_write("data", block, sizeof block, 0600);
    struct iovec vector[2] = {{block, 1000}, {block + 1000, 24}};
    (void)state;
    load(26, false);
    start(&(struct strobe_rhea_options){.io = true});
    int fd = app.open(path, O_RDWR, 0);
    assert_int_equal(app.write(fd, block, 2048), 2048);
    assert_int_equal(app.pwrite(fd, block, 1024, 512), 1024);
    assert_int_equal(app.pread(fd, block, 1024, 100), 1024);
    assert_int_equal(app.read(fd, block, 2048), 2048);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(app.readv(fd, vector, 2), 1024);
    assert_int_equal(app.read_chk(fd, block, 1500), 1500);
    app.fsync(fd);
    app.fdatasync(fd);
    strobe_rhea_stop();
    close(fd);
    char opened[700];
    snprintf(opened, sizeof opened, "+B|%%d|open:%s", path);
    MUST_BE(opened, "+E|%d", expected_label("+B|%%d|write:%s,size:2048", path), "+E|%d",
            expected_label("+B|%%d|write:%s,size:1024,offset:512", path), "+E|%d",
            expected_label("+B|%%d|read:%s,size:1024,offset:100", path), "+E|%d",
            expected_label("+B|%%d|read:%s,size:2048", path), "+E|%d", expected_label("+B|%%d|read:%s,size:1024", path),
            "+E|%d", expected_label("+B|%%d|read:%s,size:1500", path), "+E|%d", expected_label("+B|%%d|fsync:%s", path),
            "+E|%d", expected_label("+B|%%d|fdatasync:%s", path), "+E|%d");
}

/* The forms of a call that programs with 64-bit offsets and fortified programs make. */
static void every_form_of_a_file_call_is_reported_alike(void **state)
{
    const char *path = temp_dir_write("data", block, sizeof block, 0600);
    const char *const reads[] = {"app_pread64", "app_pread_chk", "app_pread64_chk"};
    char opened[700], read_label[700];
    int fd, (*opener)(const char *, int, int), (*checked_opener)(const char *, int);
    long (*positioned)(int, void *, unsigned long, long);
    (void)state;
    load(26, false);
    snprintf(opened, sizeof opened, "+B|%%d|open:%s", path);
    start(&(struct strobe_rhea_options){.io = true});
    FIND(app.library, opener, "app_open64");
    assert_true((fd = opener(path, O_RDWR, 0)) >= 0);
    for (size_t i = 0; i < 2; i++) {
        FIND(app.library, checked_opener, i ? "app_open64_2" : "app_open_2");
        int other = checked_opener(path, O_RDWR);
        assert_true(other >= 0);
        close(other);
    }
    for (size_t i = 0; i < 3; i++) {
        FIND(app.library, positioned, reads[i]);
        assert_int_equal(positioned(fd, block, 1024, 100), 1024);
    }
    FIND(app.library, positioned, "app_pwrite64");
    assert_int_equal(positioned(fd, block, 1024, 512), 1024);
    app.sync();
    strobe_rhea_stop();
    close(fd);
    snprintf(read_label, sizeof read_label, "%s", expected_label("+B|%%d|read:%s,size:1024,offset:100", path));
    MUST_BE(opened, "+E|%d", opened, "+E|%d", opened, "+E|%d", read_label, "+E|%d", read_label, "+E|%d", read_label,
            "+E|%d", expected_label("+B|%%d|write:%s,size:1024,offset:512", path), "+E|%d", "+B|%d|io:sync", "+E|%d");
}

static void reads_and_writes_below_the_least_size_are_not_reported(void **state)
{
    const char *path = temp_dir_write("data", block, sizeof block, 0600);
    struct iovec vector[2] = {{block, 1000}, {block + 1000, 23}};
    (void)state;
    load(26, false);
    start(&(struct strobe_rhea_options){.io = true});
    int fd = open(path, O_RDWR);
    app.write(fd, block, 1023);
    app.pread(fd, block, 1023, 0);
    app.readv(fd, vector, 2);
    strobe_rhea_stop();
    read_log();
    assert_int_equal(seen.count, 0);
    start(&(struct strobe_rhea_options){.io = true, .io_least = 1});
    app.write(fd, block, 1);
    strobe_rhea_stop();
    MUST_BE(expected_label("+B|%%d|write:%s,size:1", path), "+E|%d");
    close(fd);
}

static void calls_fail_as_they_would_and_leave_errno(void **state)
{
    (void)state;
    load(26, false);
    start(&(struct strobe_rhea_options){.io = true});
    assert_int_equal(app.read(-1, block, 2000), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(app.open("/nowhere/at/all", O_RDONLY, 0), -1);
    assert_int_equal(errno, ENOENT);
    errno = 0;
    const char *path = temp_dir_path("made");
    char opened[700];
    snprintf(opened, sizeof opened, "+B|%%d|open:%s", path);
    int fd = app.open(path, O_RDWR | O_CREAT, 0640);
    assert_true(fd >= 0);
    assert_int_equal(app.write(fd, block, 2000), 2000);
    assert_int_equal(errno, 0);
    assert_int_equal(app.readv(fd, NULL, -1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(app.read(99999, block, 2000), -1); /* the path of a bad descriptor cannot be found */
    assert_int_equal(errno, EBADF);
    strobe_rhea_stop();
    close(fd);
    MUST_BE("+B|%d|read:,size:2000", "+E|%d", "+B|%d|open:/nowhere/at/all", "+E|%d", opened, "+E|%d",
            expected_label("+B|%%d|write:%s,size:2000", path), "+E|%d", "+B|%d|read:,size:2000", "+E|%d");
}

static void a_call_that_succeeds_leaves_errno_as_it_was(void **state)
{
    char empty[1];
    (void)state;
    load(26, false);
    start(&(struct strobe_rhea_options){.io = true, .io_least = 1});
    errno = 1234;
    int fd = app.open("/dev/null", O_RDWR, 0);
    assert_int_equal(app.write(fd, block, 1), 1);
    assert_int_equal(app.read(fd, empty, 1), 0);
    assert_int_equal(errno, 1234);
    strobe_rhea_stop();
    close(fd);
}

static void labels_keep_size_and_offset_when_the_path_is_too_long(void **state)
{
    char to[64], path[100];
    (void)state;
    memset(path, 'p', sizeof path);
    size_t bytes = strobe_atrace_label(to, 40, "read", path, sizeof path, 4096, UINT64_C(1) << 40);
    assert_int_equal(bytes, 40);
    assert_memory_equal(to, "read:pppp,size:4096,offset:1099511627776", 40);
    bytes = strobe_atrace_label(to, sizeof to, "read", "/a", 2, 0, STROBE_ATRACE_NONE);
    assert_int_equal(bytes, 14);
    assert_memory_equal(to, "read:/a,size:0", 14);
    bytes = strobe_atrace_label(to, 3, "read", "/a", 2, 1, 1);
    assert_int_equal(bytes, 3);
}

/* ---- life */

static void libraries_loaded_later_are_hooked_at_the_next_scan(void **state)
{
    long (*write_later)(int, const void *, unsigned long);
    (void)state;
    load(26, false);
    start(&(struct strobe_rhea_options){0});
    temp_dir_run("cp libapp.so liblater.so");
    void *later = dlopen(temp_dir_path("liblater.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(later);
    FIND(later, write_later, "app_write");
    assert_int_equal(write_later(*app.marker, "B|1|unseen", 10), -1);
    strobe_rhea_hook_loaded();
    assert_int_equal(write_later(*app.marker, "B|1|seen", 8), 8);
    strobe_rhea_stop();
    assert_int_equal(write_later(STROBE_RHEA_MAGIC_FD, "B|1|after", 9), -1);
    dlclose(later);
    MUST_BE("+B|1|seen");
}

static void a_missing_library_or_function_is_reported_and_nothing_is_changed(void **state)
{
    struct strobe_rhea_options o = {.cutils = "libnowhere.so"};
    struct strobe_error error = {""};
    (void)state;
    load(26, false);
    assert_int_equal(strobe_rhea_start(&o, &error), STROBE_NO_ENTRY);
    assert_string_equal(error.text, "libnowhere.so: no such library is loaded");
    o.cutils = "libcmocka.so";
    assert_int_equal(strobe_rhea_start(&o, &error), STROBE_NO_ENTRY);
    assert_non_null(strstr(error.text, "atrace_enabled_tags"));
    o.cutils = app.path;
    o.ring_path = temp_dir_write("there", "x", 1, 0600);
    assert_int_equal(strobe_rhea_start(&o, &error), STROBE_EXISTS);
    assert_int_equal(*app.tags, 0);
    assert_int_equal(*app.marker, -1);
    o.ring_path = "/nowhere/at/all/ring";
    assert_int_equal(strobe_rhea_start(&o, &error), STROBE_IO);
    start(&(struct strobe_rhea_options){0});
    assert_int_equal(strobe_rhea_start(&(struct strobe_rhea_options){.cutils = app.path}, &error), STROBE_EXISTS);
}

static void *use_files_too(void *path)
{
    int fd = app.open(path, O_RDWR, 0);
    app.write(fd, block, 2048);
    app.sync();
    close(fd);
    return NULL;
}

static void with_main_only_file_calls_of_other_threads_are_not_reported(void **state)
{
    char *path = strdup(temp_dir_write("data", block, sizeof block, 0600)), opened[700];
    pthread_t thread;
    (void)state;
    load(26, false);
    snprintf(opened, sizeof opened, "B|%%d|open:%s", path);
    start(&(struct strobe_rhea_options){.io = true, .main_only = true});
    use_files_too(path);
    assert_int_equal(pthread_create(&thread, NULL, use_files_too, path), 0);
    pthread_join(thread, NULL);
    strobe_rhea_stop();
    MUST_BE(opened, "E|%d", expected_label("B|%%d|write:%s,size:2048", path), "E|%d", "B|%d|io:sync", "E|%d");
    free(path);
}

/* The hooks read no argument that the system would not read. */
static void arguments_that_the_system_refuses_are_passed_on_unread(void **state)
{
    struct iovec vector = {block, 2048};
    (void)state;
    load(26, false);
    start(&(struct strobe_rhea_options){.io = true});
    assert_int_equal(app.open(NULL, O_RDONLY, 0), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(app.readv(-1, NULL, 2), -1);
    assert_int_equal(app.readv(-1, &vector, 2000), -1);
    int fd = app.open(temp_dir_path(""), O_RDWR | O_TMPFILE, 0600);
    struct stat about;
    assert_true(fd >= 0 && fstat(fd, &about) == 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    close(fd);
    strobe_rhea_stop();
}

static void a_ring_is_released_only_after_its_capture(void **state)
{
    (void)state;
    load(26, false);
    strobe_rhea_hook_loaded(); /* no capture: nothing to hook */
    start(&(struct strobe_rhea_options){0});
    strobe_rhea_release();
    app.begin("kept");
    strobe_rhea_stop();
    MUST_BE("+B|%d|kept");
}

static void a_ring_without_room_leaves_no_file(void **state)
{
    const char *path = temp_dir_path("no-room.ring");
    struct strobe_rhea_options o = {.ring_path = path};
    struct strobe_error error = {""};
    struct rlimit least = {4096, RLIM_INFINITY}, most;
    (void)state;
    load(26, false);
    o.cutils = app.path;
    o.slots = 10000;
    getrlimit(RLIMIT_FSIZE, &most);
    least.rlim_max = most.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
    enum strobe_status status = strobe_rhea_start(&o, &error);
    setrlimit(RLIMIT_FSIZE, &most);
    assert_int_equal(status, STROBE_IO);
    assert_non_null(strstr(error.text, "no room for the ring"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(*app.marker, -1);
    start(&o);
}

static void a_log_that_cannot_be_written_is_an_error(void **state)
{
    struct strobe_rhea_log_stats stats;
    char name[512];
    int full = open("/dev/full", O_WRONLY);
    (void)state;
    assert_int_equal(strobe_rhea_dump(full, 6, &stats), STROBE_NO_ENTRY);
    load(26, false);
    start(&(struct strobe_rhea_options){0});
    app.begin("short");
    strobe_rhea_stop();
    assert_int_equal(strobe_rhea_dump(full, 6, &stats), STROBE_IO);
    start(&(struct strobe_rhea_options){0});
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 40; i++)
        app.begin(name);
    strobe_rhea_stop();
    assert_int_equal(strobe_rhea_dump(full, 6, &stats), STROBE_IO);
    assert_int_equal(strobe_rhea_dump(-1, 6, &stats), STROBE_IO);
    close(full);
}

static void a_ring_file_of_a_killed_process_gives_its_log(void **state)
{
    const char *path = temp_dir_path("killed.ring");
    char text[4096] = "";
    int pipe_to[2];
    (void)state;
    assert_int_equal(pipe(pipe_to), 0);
    pid_t child = fork();
    if (child == 0) {
        load(26, false);
        start(&(struct strobe_rhea_options){.ring_path = path});
        app.begin("last words");
        if (write(pipe_to[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(pipe_to[1]); /* so that the read does not wait for a child that failed */
    assert_int_equal(read(pipe_to[0], text, 1), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    size_t bytes = strobe_packet_ring_bytes(10000);
    int fd = open(path, O_RDWR);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct strobe_packet_ring ring;
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(strobe_packet_ring_open(memory, bytes, &ring), STROBE_OK);
    assert_int_equal(strobe_atrace_count(&ring, STROBE_ATRACE_HEAD_PID), child);
    assert_int_equal(strobe_atrace_count(&ring, STROBE_ATRACE_HEAD_END_BOOT_NS), 0);
    assert_int_equal(strobe_packet_tickets(&ring), 1);
    munmap(memory, bytes);
    close(fd);
    close(pipe_to[0]);
}

static int open_temp_dir(void **state)
{
    int status = temp_dir_open(state);
    temp_dir_write("app.c", app_source, sizeof app_source - 1, 0600);
    temp_dir_run("$CC -O1 -w -fPIC -shared -o libapp.so app.c");
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(begins_and_ends_go_to_the_ring_and_not_to_the_marker_at_every_age, unload),
        cmocka_unit_test_teardown(without_a_marker_an_invalid_descriptor_stands_for_it_during_a_capture, unload),
        cmocka_unit_test_teardown(tags_are_exchanged_and_put_back, unload),
        cmocka_unit_test_teardown(a_capture_may_begin_before_libcutils_was_ever_used, unload),
        cmocka_unit_test_teardown(tags_that_others_have_set_meanwhile_are_left_alone, unload),
        cmocka_unit_test_teardown(other_kinds_are_passed_by_counted_and_still_reach_a_real_marker, unload),
        cmocka_unit_test_teardown(with_forward_messages_go_both_ways, unload),
        cmocka_unit_test_teardown(a_message_that_is_too_long_is_cut_and_counted_and_its_end_stays, unload),
        cmocka_unit_test_teardown(marks_of_methods_are_reported_with_their_prefixes, unload),
        cmocka_unit_test_teardown(the_engines_own_threads_are_not_recorded, unload),
        cmocka_unit_test_teardown(main_only_leaves_other_threads_out_at_both_levels, unload),
        cmocka_unit_test_teardown(all_threads_are_distinguished_by_their_ids, unload),
        cmocka_unit_test_teardown(a_forked_child_writes_nothing_to_its_parents_ring, unload),
        cmocka_unit_test_teardown(files_are_reported_by_name_with_size_and_offset, unload),
        cmocka_unit_test_teardown(every_form_of_a_file_call_is_reported_alike, unload),
        cmocka_unit_test_teardown(reads_and_writes_below_the_least_size_are_not_reported, unload),
        cmocka_unit_test_teardown(calls_fail_as_they_would_and_leave_errno, unload),
        cmocka_unit_test_teardown(a_call_that_succeeds_leaves_errno_as_it_was, unload),
        cmocka_unit_test(labels_keep_size_and_offset_when_the_path_is_too_long),
        cmocka_unit_test_teardown(libraries_loaded_later_are_hooked_at_the_next_scan, unload),
        cmocka_unit_test_teardown(a_missing_library_or_function_is_reported_and_nothing_is_changed, unload),
        cmocka_unit_test_teardown(with_main_only_file_calls_of_other_threads_are_not_reported, unload),
        cmocka_unit_test_teardown(arguments_that_the_system_refuses_are_passed_on_unread, unload),
        cmocka_unit_test_teardown(a_ring_is_released_only_after_its_capture, unload),
        cmocka_unit_test_teardown(a_ring_without_room_leaves_no_file, unload),
        cmocka_unit_test_teardown(a_log_that_cannot_be_written_is_an_error, unload),
        cmocka_unit_test_teardown(a_ring_file_of_a_killed_process_gives_its_log, unload),
    };
    return cmocka_run_group_tests(tests, open_temp_dir, temp_dir_close);
}
