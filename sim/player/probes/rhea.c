/* RheaTrace 1.0 in a player: section events of methods, for all threads or the main thread only. The engine's part of
 * the atrace proxy writes them into its ring (engine/method/rhea/atrace.h). The file is RheaTrace's raw log. */
#include "engine/base/error_format.h"
#include "engine/method/rhea/rhea_log.h"
#include "sim/player/probes/probes.h"
#include "sim/policy/rhea_reconstruct.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LABEL_BYTES = 512 };

static struct {
    struct strobe_atrace atrace;
    const char *const *names;
    char path[4096];
} rhea;

static _Thread_local uint32_t own_tid;
static _Thread_local bool in_frame;

static uint64_t rhea_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t rhea_probe_boot_ns(void *ctx)
{
    (void)ctx;
    return rhea_clock_ns(CLOCK_BOOTTIME);
}

static uint32_t rhea_probe_tid(void *ctx)
{
    (void)ctx;
    return own_tid;
}

static bool open_ring(const char *const *names, const char *path, bool main_only, struct strobe_error *error)
{
    static const struct strobe_atrace_system system = {rhea_probe_boot_ns, rhea_probe_tid, NULL};
    struct strobe_packet_ring ring;
    size_t bytes = strobe_packet_ring_bytes(STROBE_PACKET_SLOTS_MOST);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    rhea.names = names;
    snprintf(rhea.path, sizeof rhea.path, "%s", path);
    if (memory != MAP_FAILED) {
        strobe_packet_ring_create(memory, STROBE_PACKET_SLOTS_MOST);
        if (strobe_packet_ring_open(memory, bytes, &ring) == STROBE_OK) {
            strobe_atrace_begin(&rhea.atrace, &ring, &system, (uint32_t)getpid(), rhea_clock_ns(CLOCK_MONOTONIC),
                                main_only);
            return true;
        }
    }
    strobe_error_set(error, "rheatrace: no memory for its ring");
    return false;
}

static bool open_all(const char *const *names, uint32_t count, const char *path, struct strobe_error *error)
{
    (void)count;
    return open_ring(names, path, false, error);
}

static bool open_main(const char *const *names, uint32_t count, const char *path, struct strobe_error *error)
{
    (void)count;
    return open_ring(names, path, true, error);
}

static void *rhea_probe_thread_begin(const struct sim_probe_thread *about)
{
    own_tid = about->tid;
    return &rhea;
}

static void rhea_probe_thread_end(void *thread)
{
    (void)thread;
}

static void rhea_probe_write_event(enum strobe_atrace_kind kind, uint32_t id)
{
    const char *name = rhea.names[id];
    strobe_atrace_section(&rhea.atrace, kind, name, strlen(name));
}

static void rhea_probe_enter(void *thread, uint32_t id, uint32_t depth)
{
    (void)thread, (void)depth;
    rhea_probe_write_event(STROBE_ATRACE_ENTER, id);
}

static void rhea_probe_leave(void *thread, uint32_t id, uint32_t depth)
{
    (void)thread, (void)depth;
    rhea_probe_write_event(STROBE_ATRACE_LEAVE, id);
}

static void rhea_probe_throw(void *thread, uint32_t id, uint32_t depth)
{
    (void)thread, (void)depth;
    rhea_probe_write_event(STROBE_ATRACE_THROW, id);
}

/* Writes the section that the Android framework opens for a display frame, through the trace library. */
static void rhea_probe_message_begin(void *thread, uint32_t message, bool is_frame)
{
    char text[64];
    (void)thread, (void)message;
    in_frame = is_frame;
    int bytes = is_frame ? snprintf(text, sizeof text, "B|%u|" SIM_RHEA_FRAME_MARK, (uint32_t)getpid()) : 0;
    strobe_atrace_message(&rhea.atrace, text, (size_t)bytes);
}

static void rhea_probe_message_end(void *thread, uint32_t message)
{
    char text[32];
    (void)thread, (void)message;
    int bytes = in_frame ? snprintf(text, sizeof text, "E|%u", (uint32_t)getpid()) : 0;
    strobe_atrace_message(&rhea.atrace, text, (size_t)bytes);
    in_frame = false;
}

/* Writes the begin of a section for a read. Scenarios do not name files, so the path contains the method's name. */
static void read_begin(void *thread, const char *method)
{
    char path[LABEL_BYTES / 2], label[LABEL_BYTES];
    (void)thread;
    int n = snprintf(path, sizeof path, "/data/%s", method);
    size_t bytes =
        strobe_atrace_label(label, sizeof label, "read", path, (size_t)n < sizeof path ? (size_t)n : sizeof path - 1,
                            STROBE_ATRACE_NONE, STROBE_ATRACE_NONE);
    strobe_atrace_section(&rhea.atrace, STROBE_ATRACE_BEGIN, label, bytes);
}

static void read_end(void *thread)
{
    (void)thread;
    strobe_atrace_section(&rhea.atrace, STROBE_ATRACE_END, "", 0);
}

static bool rhea_probe_put(void *out, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, out) == bytes;
}

/* Other threads may write meanwhile. The log ends before these events. */
static bool close_log(struct strobe_error *error)
{
    strobe_atrace_end(&rhea.atrace);
    FILE *out = fopen(rhea.path, "wb");
    bool written = out && strobe_rhea_log(&rhea.atrace.ring, SIM_RHEA_DIGITS, rhea_probe_put, out, NULL) == STROBE_OK;
    if (out)
        written = fclose(out) == 0 && written;
    if (!written)
        strobe_error_set(error, "%s: %s", rhea.path, strerror(errno));
    return written;
}

const struct sim_probe_policy sim_probe_policy_rheatrace = {
    .policy = "rheatrace",
    .open = open_all,
    .thread_begin = rhea_probe_thread_begin,
    .thread_end = rhea_probe_thread_end,
    .enter = rhea_probe_enter,
    .leave = rhea_probe_leave,
    .throws = rhea_probe_throw,
    .message_begin = rhea_probe_message_begin,
    .message_end = rhea_probe_message_end,
    .read_begin = read_begin,
    .read_end = read_end,
    .close = close_log,
};

const struct sim_probe_policy sim_probe_policy_rheatrace_main = {
    .policy = "rheatrace-main",
    .open = open_main,
    .thread_begin = rhea_probe_thread_begin,
    .thread_end = rhea_probe_thread_end,
    .enter = rhea_probe_enter,
    .leave = rhea_probe_leave,
    .throws = rhea_probe_throw,
    .message_begin = rhea_probe_message_begin,
    .message_end = rhea_probe_message_end,
    .read_begin = read_begin,
    .read_end = read_end,
    .close = close_log,
};
