/* Fixed work of the capture by instrumentation, for counting instructions: the logs and rings of the tracers whose
 * formats Strobe writes, and the atrace proxy over the lab's libcutils.
 *
 *     gate-method matrix | rhea | atrace | netease
 *     gate-method modes */
#include "bench/gate/modes.h"
#include "engine/base/error.h"
#include "engine/base/hint.h"
#include "engine/method/matrix/matrix_log.h"
#include "engine/method/netease/netease_ring.h"
#include "engine/method/rhea/art/rhea.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    CALLS = 100000,
    MATRIX_ENTRIES = 1 << 15,
    MESSAGE_EVERY = 100,
    MESSAGES = 20000,
    SECTIONS = 5000,
    STACKS = 3000,
    FRAMES = 40,
    KEPT = 256,
};

STROBE_NOINLINE void measured_matrix(struct strobe_matrix_log *log, uint64_t *copy);
STROBE_NOINLINE void measured_rhea(struct strobe_atrace *atrace);
STROBE_NOINLINE void measured_atrace(void (*begin)(const char *), void (*end)(void));
STROBE_NOINLINE void measured_netease(const struct strobe_netease_ring *ring);

static void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "gate-method: %s\n", what);
        exit(1);
    }
}

static void *zeroed_memory(size_t bytes)
{
    void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    check(p != NULL, "out of memory");
    return memset(p, 0, bytes);
}

/* ---- matrix */

void measured_matrix(struct strobe_matrix_log *log, uint64_t *copy)
{
    uint64_t now_ns = 0;
    struct strobe_matrix_mark mark = strobe_matrix_mark(log);
    for (uint32_t i = 0; i < CALLS; i++) {
        if (i % MESSAGE_EVERY == 0)
            strobe_matrix_message_begin(log, now_ns += 1000000);
        strobe_matrix_enter(log, 1 + i % 4000);
        strobe_matrix_leave(log, 1 + i % 4000);
        if (i % MESSAGE_EVERY == MESSAGE_EVERY - 1)
            strobe_matrix_message_end(log, now_ns += 1000000);
    }
    size_t count;
    check(strobe_matrix_copy(log, &mark, NULL, copy, MATRIX_ENTRIES, &count) == STROBE_TRUNCATED, "no lap in the log");
    check(strobe_matrix_copy_newest(log, copy, MATRIX_ENTRIES) == MATRIX_ENTRIES, "the copy is not whole");
}

static void matrix(void)
{
    struct strobe_matrix_clock clock;
    struct strobe_matrix_log log;
    size_t bytes = strobe_matrix_log_bytes(MATRIX_ENTRIES);
    void *memory = zeroed_memory(bytes), *copy = zeroed_memory(MATRIX_ENTRIES * sizeof(uint64_t));
    strobe_matrix_clock_open(&clock, 0, true);
    check(strobe_matrix_log_open(&log, memory, bytes, MATRIX_ENTRIES, &clock) == STROBE_OK, "the log does not open");
    strobe_matrix_enter(&log, 1);
    check(strobe_matrix_start(&log) == STROBE_OK, "the log does not start");
    measured_matrix(&log, copy);
    free(copy);
    free(memory);
}

/* ---- rhea: messages of one and of two packets, and the log made of them */

static const char *const messages[] = {"B|12345|Choreographer#doFrame", "E|12345",
                                       "B|12345|B:com.example.gallery.ui.AlbumActivity$Adapter.onBindViewHolder"};

static uint64_t next_time(void *ns)
{
    return *(uint64_t *)ns += 1000;
}

static uint32_t only_thread(void *ns)
{
    (void)ns;
    return 1;
}

static bool count_text(void *sum, const char *text, size_t bytes)
{
    *(uint64_t *)sum += bytes + (unsigned char)text[0];
    return true;
}

void measured_rhea(struct strobe_atrace *atrace)
{
    struct strobe_rhea_log_stats stats = {0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const char *text = messages[i % 3];
        check(strobe_atrace_message(atrace, text, strlen(text)) == STROBE_ATRACE_KEPT, "a message is not kept");
    }
    strobe_atrace_end(atrace);
    check(strobe_rhea_log(&atrace->ring, 6, count_text, &sum, &stats) == STROBE_OK && stats.lines == MESSAGES,
          "the log lacks messages");
}

static void rhea(void)
{
    uint64_t now_ns = 0;
    const struct strobe_atrace_system system = {next_time, only_thread, &now_ns};
    struct strobe_packet_ring ring;
    struct strobe_atrace atrace;
    size_t bytes = strobe_packet_ring_bytes(2 * MESSAGES);
    void *memory = zeroed_memory(bytes);
    strobe_packet_ring_create(memory, 2 * MESSAGES);
    check(strobe_packet_ring_open(memory, bytes, &ring) == STROBE_OK, "the ring does not open");
    strobe_atrace_begin(&atrace, &ring, &system, 1, 0, false);
    measured_rhea(&atrace);
    free(memory);
}

/* ---- atrace: the proxy in front of the lab's libcutils */

void measured_atrace(void (*begin)(const char *), void (*end)(void))
{
    for (uint32_t i = 0; i < SECTIONS; i++) {
        begin(i % 2 ? "Choreographer#doFrame" : "com.example.gallery.ui.AlbumActivity$Adapter.onBindViewHolder");
        end();
    }
}

/* libcutils writes the id of the process as text. This one has as many digits in each run. */
pid_t getpid(void)
{
    return 12345;
}

static void *open_cutils(void)
{
    char self[PATH_MAX] = "", path[PATH_MAX + 64];
    check(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "/proc is not there");
    snprintf(path, sizeof path, "%s/../cutils/26/libcutils.so", dirname(self));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    check(library != NULL, "the lab's libcutils is not built");
    return library;
}

static void atrace(void)
{
    void *cutils = open_cutils();
    struct strobe_error error = {""};
    const struct strobe_rhea_options options = {.cutils = "libcutils.so", .slots = 4 * SECTIONS};
    void (*begin)(const char *), (*end)(void);
    *(void **)&begin = dlsym(cutils, "atrace_begin_body");
    *(void **)&end = dlsym(cutils, "atrace_end_body");
    check(begin && end, "libcutils lacks atrace_begin_body");
    check(strobe_rhea_start(&options, &error) == STROBE_OK, error.text);
    measured_atrace(begin, end);
    check(strobe_rhea_stop() == STROBE_OK, "the proxy is not removed");
    strobe_rhea_release();
}

/* ---- netease: stacks put into the ring, and read in order */

void measured_netease(const struct strobe_netease_ring *ring)
{
    struct strobe_netease_capture capture = {0};
    struct strobe_netease_list list;
    uint64_t frames[FRAMES], number, count = 0;
    for (uint32_t i = 0; i < STACKS; i++) {
        capture.ticks = i;
        for (uint32_t k = 0; k < FRAMES; k++)
            frames[k] = 4096 + 16 * (uint64_t)(i / (k + 1));
        check(strobe_netease_ring_put(ring, &capture, frames, FRAMES, &number) == STROBE_OK, "a stack is refused");
    }
    strobe_netease_list_begin(ring, &list);
    while (strobe_netease_list_next(ring, &list, &capture, frames))
        count++;
    check(count == KEPT, "stacks are missing");
}

static void netease(void)
{
    struct strobe_netease_ring ring;
    size_t bytes = strobe_netease_ring_bytes(KEPT, FRAMES);
    void *memory = zeroed_memory(bytes);
    strobe_netease_ring_create(memory, KEPT, FRAMES);
    check(strobe_netease_ring_open(memory, bytes, &ring) == STROBE_OK, "the ring does not open");
    measured_netease(&ring);
    free(memory);
}

int main(int argc, char **argv)
{
    static const struct gate_mode modes[] = {
        {"matrix", matrix},
        {"rhea", rhea},
        {"atrace", atrace},
        {"netease", netease},
    };
    return gate_run_mode(modes, sizeof modes / sizeof *modes, argc, argv);
}
