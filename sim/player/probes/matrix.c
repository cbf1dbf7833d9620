/* Matrix's TraceCanary in a player: the packed log of the main thread (engine/method/matrix/matrix_log.h). A thread
 * advances the log's clock. */
#include "engine/base/error_format.h"
#include "engine/method/matrix/matrix_log.h"
#include "sim/player/probes/probes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    struct strobe_matrix_clock clock;
    struct strobe_matrix_log log;
    struct sim_probe_matrix_head head;
    char path[4096];
} matrix;

static uint64_t matrix_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Start function of the clock's thread. Runs until the process ends. */
static void *matrix_keep_clock(void *unused)
{
    struct timespec pause = {0, STROBE_MATRIX_TICK_MS * 1000000};
    (void)unused;
    for (;;) {
        strobe_matrix_clock_tick(&matrix.clock, matrix_now_ns());
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static bool open_matrix(const char *const *names, uint32_t count, const char *path, struct strobe_error *error)
{
    size_t bytes = strobe_matrix_log_bytes(STROBE_MATRIX_ENTRIES_DEFAULT);
    void *memory = malloc(bytes);
    pthread_t clock;
    (void)names, (void)count;
    snprintf(matrix.path, sizeof matrix.path, "%s", path);
    matrix.head.base_ns = matrix_now_ns();
    strobe_matrix_clock_open(&matrix.clock, matrix.head.base_ns, true);
    if (memory &&
        strobe_matrix_log_open(&matrix.log, memory, bytes, STROBE_MATRIX_ENTRIES_DEFAULT, &matrix.clock) == STROBE_OK &&
        pthread_create(&clock, NULL, matrix_keep_clock, NULL) == 0)
        return true;
    strobe_error_set(error, "matrix: no memory for its log, or no thread for its clock");
    return false;
}

static void *matrix_probe_thread_begin(const struct sim_probe_thread *about)
{
    if (!about->is_main)
        return NULL;
    matrix.head.tid = about->tid;
    snprintf(matrix.head.name, sizeof matrix.head.name, "%s", about->name);
    return &matrix;
}

static void matrix_probe_thread_end(void *thread)
{
    (void)thread;
}

static void matrix_probe_enter(void *thread, uint32_t id, uint32_t depth)
{
    (void)thread, (void)depth;
    strobe_matrix_enter(&matrix.log, id);
}

static void matrix_probe_leave(void *thread, uint32_t id, uint32_t depth)
{
    (void)thread, (void)depth;
    strobe_matrix_leave(&matrix.log, id);
}

/* Matrix has no probe at a throw. */
static void matrix_probe_throw(void *thread, uint32_t id, uint32_t depth)
{
    (void)thread, (void)id, (void)depth;
}

static void matrix_probe_message_begin(void *thread, uint32_t message, bool is_frame)
{
    (void)thread, (void)message, (void)is_frame;
    strobe_matrix_message_begin(&matrix.log, matrix_now_ns());
}

static void matrix_probe_message_end(void *thread, uint32_t message)
{
    (void)thread, (void)message;
    strobe_matrix_message_end(&matrix.log, matrix_now_ns());
}

/* The main thread may append entries meanwhile. The file has the entries that existed when they were copied. */
static bool matrix_probe_close(struct strobe_error *error)
{
    uint64_t *entries = malloc(STROBE_MATRIX_ENTRIES_DEFAULT * sizeof *entries);
    FILE *out = entries ? fopen(matrix.path, "wb") : NULL;
    bool written = out != NULL;
    if (out) {
        matrix.head.count = strobe_matrix_copy_newest(&matrix.log, entries, STROBE_MATRIX_ENTRIES_DEFAULT);
        uint64_t in_all = strobe_load_relaxed(&matrix.log.written);
        matrix.head.lost = in_all > STROBE_MATRIX_ENTRIES_DEFAULT ? in_all - matrix.head.count : 0;
        written = fwrite(&matrix.head, sizeof matrix.head, 1, out) == 1 &&
                  fwrite(entries, sizeof *entries, matrix.head.count, out) == matrix.head.count;
        written = fclose(out) == 0 && written;
    }
    if (!written)
        strobe_error_set(error, "%s: %s", matrix.path, strerror(errno));
    free(entries);
    return written;
}

const struct sim_probe_policy sim_probe_policy_matrix = {
    .policy = "matrix",
    .open = open_matrix,
    .thread_begin = matrix_probe_thread_begin,
    .thread_end = matrix_probe_thread_end,
    .enter = matrix_probe_enter,
    .leave = matrix_probe_leave,
    .throws = matrix_probe_throw,
    .message_begin = matrix_probe_message_begin,
    .message_end = matrix_probe_message_end,
    .close = matrix_probe_close,
};
