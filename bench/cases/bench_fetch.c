/* Fetches a session of 64 MB over the control server's local socket while a thread goes on recording, as a client of a
 * running capture does. The reference copies as many bytes from memory through a socket of the same kind. */
#include "bench/bench.h"
#include "bench/rig.h"

#include "engine/capture/annotate.h"
#include "engine/control/server.h"
#include "engine/store/session_copy.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    RECORDS = 1 << 20,
    SESSION_BYTES = RECORDS * (int)sizeof(struct strobe_slot),
    BLOCK_BYTES = 256 << 10,
    BURST = 20,
    PAUSE_NS = 1000000
};

static struct {
    struct rig *rig;
    struct strobe_control_server server;
    uint64_t bytes; /* of the last answer */
} fetch;

static void end_if(bool failed, const char *what)
{
    if (!failed)
        return;
    perror(what);
    abort();
}

/* ---- the captured program */

/* Records BURST counters a millisecond. */
static void *record_on(void *unused)
{
    const struct timespec pause = {0, PAUSE_NS};
    const struct strobe_stack_bounds no_stack = {0};
    struct strobe_thread *t =
        strobe_thread_attach(&fetch.rig->engine, (uint32_t)gettid(), false, "recorder", &no_stack);
    end_if(!t, "strobe_thread_attach");
    for (;;) {
        for (int64_t i = 0; i < BURST; i++)
            strobe_counter_report(t, "frames", i);
        nanosleep(&pause, NULL);
    }
    return unused;
}

static uint64_t count_lost(void)
{
    const struct strobe_session *s = &fetch.rig->engine.session;
    uint64_t lost = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(s); i++)
        lost += strobe_load_relaxed(&s->threads[i].account[STROBE_KIND_ANNOTATION].dropped) +
                strobe_load_relaxed(&s->threads[i].overwrote_samples);
    return lost;
}

/* Returns the CPU time of both sides and of the recording thread. */
static uint64_t process_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the server */

static enum strobe_status copy_session(void *ctx, uint32_t id, uint64_t last_ns, struct strobe_control_bytes *out,
                                       struct strobe_error *error)
{
    void *memory;
    (void)ctx, (void)id, (void)last_ns, (void)error;
    enum strobe_status status =
        strobe_session_copy_map(&fetch.rig->engine.session, 0, UINT64_MAX, &memory, &out->bytes);
    out->at = status == STROBE_OK ? memory : NULL;
    return status;
}

static void release_copy(void *ctx, struct strobe_control_bytes *bytes)
{
    (void)ctx;
    munmap(bytes->at, bytes->bytes);
}

static void *serve(void *unused)
{
    strobe_control_serve(&fetch.server);
    return unused;
}

static void start_thread(void *(*run)(void *))
{
    pthread_t thread;
    end_if(pthread_create(&thread, NULL, run, NULL) != 0, "pthread_create");
    pthread_detach(thread);
}

/* Makes a session of RECORDS records, with space for as many again, at the first call. */
static void begin_once(void)
{
    static const struct strobe_control_actions actions = {.copy = copy_session, .release = release_copy};
    struct strobe_control_options options = {.actions = &actions, .access.uid = (uint32_t)geteuid()};
    struct strobe_config config = rig_config();
    struct strobe_error error;
    if (fetch.rig)
        return;
    config.ring_slots = 2 * RECORDS;
    config.ring_mode =
        STROBE_KEEP_OLDEST; /* the other mode may overwrite one thread's records while others have space */
    fetch.rig = rig_new(&config);
    for (int64_t i = 0; i < RECORDS; i++)
        strobe_counter_report(fetch.rig->thread, "frames", i);
    snprintf(options.address.name, sizeof options.address.name, "strobe-bench-%d", (int)getpid());
    end_if(strobe_control_open(&fetch.server, &options, &error) != STROBE_OK, "strobe_control_open");
    start_thread(serve);
    start_thread(record_on);
}

/* ---- clients */

static uint64_t read_to_end(int fd)
{
    static char block[BLOCK_BYTES];
    uint64_t bytes = 0;
    for (ssize_t n; (n = recv(fd, block, sizeof block, 0)) != 0; bytes += (uint64_t)n)
        end_if(n < 0, "recv");
    return bytes;
}

static int connect_to_server(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(fetch.server.options.address.name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path + 1, fetch.server.options.address.name, n);
    end_if(fd < 0 || connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)),
           "connect");
    return fd;
}

static void fetch_session(struct gbench_state *s, const void *arg)
{
    static const char request[] = "GET /session HTTP/1.1\r\nHost: strobe\r\n\r\n";
    (void)arg;
    begin_once();
    uint64_t lost = count_lost(), cpu_ns = process_cpu_ns();
    while (gbench_loop(s)) {
        int fd = connect_to_server();
        end_if(send(fd, request, sizeof request - 1, 0) != (ssize_t)sizeof request - 1, "send");
        fetch.bytes = read_to_end(fd);
        close(fd);
        if (fetch.bytes < SESSION_BYTES)
            abort();
    }
    gbench_counter(s, "bytes", (double)fetch.bytes);
    gbench_counter(s, "cpu", (double)(process_cpu_ns() - cpu_ns));
    gbench_counter(s, "lost", (double)(count_lost() - lost));
}

static void *send_bytes(void *arg)
{
    static char *memory;
    int fd = *(int *)arg;
    if (!memory)
        memory = bench_pages(SESSION_BYTES);
    for (uint64_t sent = 0; sent < SESSION_BYTES;) {
        uint64_t rest = SESSION_BYTES - sent;
        ssize_t n = send(fd, memory + sent, rest < BLOCK_BYTES ? rest : BLOCK_BYTES, 0);
        end_if(n < 0, "send");
        sent += (uint64_t)n;
    }
    close(fd);
    return NULL;
}

static void copy_bytes(struct gbench_state *s, const void *arg)
{
    (void)arg;
    begin_once();
    uint64_t cpu_ns = process_cpu_ns();
    while (gbench_loop(s)) {
        int ends[2];
        pthread_t sender;
        end_if(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0, "socketpair");
        end_if(pthread_create(&sender, NULL, send_bytes, &ends[0]) != 0, "pthread_create");
        if (read_to_end(ends[1]) != SESSION_BYTES)
            abort();
        close(ends[1]);
        pthread_join(sender, NULL);
    }
    gbench_counter(s, "bytes", SESSION_BYTES);
    gbench_counter(s, "cpu", (double)(process_cpu_ns() - cpu_ns));
}

void bench_fetch_add(void)
{
    gbench_add(&(struct gbench_spec){.name = "fetch/session", .run = fetch_session, .turns = 1, .clock = GBENCH_WALL});
    gbench_add(&(struct gbench_spec){.name = "fetch/copy", .run = copy_bytes, .turns = 1, .clock = GBENCH_WALL});
}

void bench_fetch_rows(void)
{
    double bytes = gbench_counter_of("fetch/session", "bytes");
    /* The target: 200 MB a second. */
    bench_row_most("session fetched from a running capture, a MB", "ms", gbench_median_ns("fetch/session") / bytes, 5);
    bench_row_ratio("  CPU time of both sides", "ms", gbench_counter_of("fetch/session", "cpu") / bytes,
                    "sent from memory", gbench_counter_of("fetch/copy", "cpu") / SESSION_BYTES, NAN);
    bench_row_most("  records lost meanwhile", "", gbench_counter_of("fetch/session", "lost"), 0);
}
