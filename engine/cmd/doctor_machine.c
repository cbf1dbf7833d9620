#include "engine/cmd/doctor.h"

#include "engine/backend/linux/cpu_clock.h"
#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/preload.h"
#include "engine/cmd/record/sched_recorder.h"
#include "engine/flight/flight_config.h"
#include "engine/store/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Reads the first line of a small system file, without its newline. Returns 0 when it cannot be read. */
static int read_first_line(const char *path, char *out, size_t bytes)
{
    FILE *f = fopen(path, "re");
    int ok = f && fgets(out, (int)bytes, f);
    if (f)
        fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = 0;
    return ok;
}

static void find_kernel(struct strobe_findings *f)
{
    struct utsname u;
    if (uname(&u)) {
        strobe_find(f, STROBE_HEALTH_MISSING, "kernel", "uname failed: %s.", strerror(errno));
        return;
    }
    int known = !strcmp(u.machine, "x86_64") || !strcmp(u.machine, "aarch64");
    strobe_find(f, known ? STROBE_HEALTH_OK : STROBE_HEALTH_MISSING, "kernel", "%s %s on %s%s.", u.sysname, u.release,
                u.machine, known ? "" : ": programs can be recorded on x86_64 and aarch64 only");
}

/* The sampler reads stacks of its own process with process_vm_readv. */
static void memory_reading(struct strobe_findings *f)
{
    static const uint64_t there = 0x5354524f42450001u;
    uint64_t copy = 0;
    struct iovec local = {&copy, sizeof copy}, remote = {(void *)(uintptr_t)&there, sizeof there};
    int by_call = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof copy && copy == there;
    int call_errno = errno;
    copy = 0;
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    int by_file =
        fd >= 0 && pread(fd, &copy, sizeof copy, (off_t)(uintptr_t)&there) == (ssize_t)sizeof copy && copy == there;
    if (fd >= 0)
        close(fd);
    if (by_call)
        strobe_find(f, STROBE_HEALTH_OK, "process_vm_readv", "Works: stacks of stopped threads can be read safely.");
    else
        strobe_find(f, by_file ? STROBE_HEALTH_NOTE : STROBE_HEALTH_MISSING, "process_vm_readv",
                    "Refused (%s): a container's system call filter often forbids it.%s", strerror(call_errno),
                    by_file ? " /proc/self/mem is used in its place." : "");
    strobe_find(f, by_call || by_file ? STROBE_HEALTH_OK : STROBE_HEALTH_MISSING, "/proc/self/mem",
                by_file ? "Readable: the second way to read memory safely."
                        : "Not readable; needed only where process_vm_readv is refused.");
}

static void find_clocks(struct strobe_findings *f)
{
    struct timespec t;
    char source[64];
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        strobe_find(f, STROBE_HEALTH_MISSING, "cpu clock", "No clock of a thread's CPU time: %s.", strerror(errno));
    else
        strobe_find(f, STROBE_HEALTH_OK, "cpu clock", "Threads have a clock of their CPU time.");
    if (!read_first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source))
        return;
    int fast = !strcmp(source, "tsc") || !strcmp(source, "arch_sys_counter") || !strcmp(source, "kvm-clock") ||
               !strncmp(source, "hyperv", 6);
    strobe_find(f, fast ? STROBE_HEALTH_OK : STROBE_HEALTH_NOTE, "clock source",
                fast ? "%s: read without a system call."
                     : "%s: every clock read is a system call, so hooks cost several times as much as they should.",
                source);
}

static void find_permissions(struct strobe_findings *f)
{
    char text[64];
    if (!read_first_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text))
        strobe_find(f, STROBE_HEALTH_OK, "ptrace scope", "No Yama here: no limit on ptrace. Not needed to record.");
    else
        strobe_find(f, STROBE_HEALTH_OK, "ptrace scope",
                    "%s%s. Not needed to record: the engine runs inside the program.", text,
                    !strcmp(text, "0")   ? ": any process of the same user may be traced"
                    : !strcmp(text, "1") ? ": children may be traced"
                    : !strcmp(text, "2") ? ": root may trace"
                                         : ": no process may trace");
    if (!read_first_line("/proc/sys/kernel/perf_event_paranoid", text, sizeof text))
        strobe_find(f, STROBE_HEALTH_NOTE, "perf",
                    "The kernel has no perf events: results can't be compared with perf.");
    else
        strobe_find(f, STROBE_HEALTH_OK, "perf", "perf_event_paranoid is %s%s. Not needed to record.", text,
                    text[0] == '-' || text[0] == '0' || text[0] == '1' ? ": `perf record -g` works for comparison"
                    : text[0] == '2' ? ": `perf record -g` sees user code of your own programs"
                                     : ": only root may run `perf record`");
}

/* Tries a clock of this process, because a container's system call filter shows only in the attempt. */
static void cpu_clock_ticks(struct strobe_findings *f)
{
    int refusal = strobe_linux_clock_refusal();
    if (refusal)
        strobe_find(f, STROBE_HEALTH_NOTE, "sampling",
                    "perf_event_open: %s. Threads cannot be sampled by their own CPU clocks; the sampler stops "
                    "them instead. On busy processors stops come late, and more time is [unseen].",
                    strerror(refusal));
    else
        strobe_find(f, STROBE_HEALTH_OK, "sampling", "Threads are sampled by their own CPU clocks (perf task clock).");
}

static void find_left_instances(struct strobe_findings *f)
{
    char path[STROBE_SCHED_INSTANCE_BYTES];
    size_t count = strobe_sched_tracefs_visit_left(false, path);
    if (count)
        strobe_find(f, STROBE_HEALTH_NOTE, "scheduling",
                    "A recorder that was killed has left %s%s. It slows the machine down until the next `record "
                    "--sched`, which removes it.",
                    path, count > 1 ? ", and others have left theirs" : "");
}

/* Tries the events on this process. They would begin when it executes a program, and do nothing here. */
static void find_scheduling(struct strobe_findings *f)
{
    static struct strobe_sched_recorder r;
    struct strobe_error why = {""};
    find_left_instances(f);
    enum strobe_status status = strobe_sched_recorder_open(&r, getpid(), false, &why);
    if (status != STROBE_OK) {
        strobe_find(f, STROBE_HEALTH_NOTE, "scheduling", "`record --sched` and `attach --sched` cannot record it: %s.",
                    status == STROBE_UNSUPPORTED ? why.text : strerror(errno));
        return;
    }
    if (r.way == STROBE_SCHED_BY_TRACEFS)
        strobe_find(f, STROBE_HEALTH_OK, "scheduling",
                    "`record --sched` (with --follow, too) and `attach --sched` record it by tracefs: switches, "
                    "wake-ups, wakers, in microseconds. Not by perf events: %s.",
                    r.refused.text);
    else if (r.perf.source == STROBE_SCHED_BY_TRACEPOINTS)
        strobe_find(f, STROBE_HEALTH_OK, "scheduling",
                    "`record --sched` (with --follow, too) and `attach --sched` record it by perf's tracepoints: "
                    "switches, wake-ups, wakers.");
    else
        strobe_find(f, STROBE_HEALTH_NOTE, "scheduling",
                    "`record --sched` (with --follow, too) and `attach --sched` record it by perf's switch records, "
                    "without wake-ups and wakers: %s.",
                    r.perf.limit.text);
    strobe_sched_recorder_close(&r);
}

static void find_libraries(struct strobe_findings *f)
{
    char path[PATH_MAX];
    if (strobe_library_find("libstrobe-preload.so", path, sizeof path))
        strobe_find(f, STROBE_HEALTH_OK, "engine", "%s is the library that is preloaded.", path);
    else
        strobe_find(f, STROBE_HEALTH_MISSING, "engine",
                    "libstrobe-preload.so is neither beside the command nor in ../lib/strobe.");
    int debug = !access("/usr/lib/debug/.build-id", R_OK);
    strobe_find(f, debug ? STROBE_HEALTH_OK : STROBE_HEALTH_NOTE, "debug symbols",
                debug ? "Debug files of installed packages are in /usr/lib/debug."
                      : "No debug files of installed packages: internal functions of stripped libraries show as "
                        "libc.so.6+0x1234. On Debian: install packages named ...-dbg or ...-dbgsym.");
}

void strobe_find_machine(struct strobe_findings *f)
{
    find_kernel(f);
    memory_reading(f);
    find_clocks(f);
    find_permissions(f);
    cpu_clock_ticks(f);
    find_scheduling(f);
    find_libraries(f);
}

/* ---- a flight recorder */

static void list_flight_triggers(const struct strobe_flight_config *c, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t k = STROBE_TRIGGER_NONE + 1; k < STROBE_TRIGGER_COUNT; k++) {
        if (!(c->triggers >> k & 1))
            continue;
        int n = snprintf(out + used, bytes - used, "%s%s", used ? ", " : "", strobe_trigger_name(k));
        used += n > 0 && (size_t)n < bytes - used ? (size_t)n : 0;
    }
}

/* No device is left out here: that depends on the app's device. */
int strobe_find_flight(struct strobe_findings *f, const char *path)
{
    const struct strobe_flight_device none = {.model = ""};
    struct strobe_flight_config c;
    struct strobe_error error = {""};
    char triggers[96];
    enum strobe_status status = strobe_flight_load_config(path, (uint32_t)getpid(), &none, &c, &error);
    if (status != STROBE_OK && status != STROBE_UNSUPPORTED)
        return strobe_complain("doctor: %s", error.text);
    if (status == STROBE_UNSUPPORTED) {
        strobe_find(f, STROBE_HEALTH_NOTE, "flight recorder", "%s", error.text);
        return 0;
    }
    list_flight_triggers(&c, triggers, sizeof triggers);
    strobe_find(f, STROBE_HEALTH_OK, "flight recorder",
                "the last %g s, at most %" PRIu64 " KiB, to %s, on %s; the main thread is blocked after %g s",
                (double)c.last_ns / 1e9, c.folder.dump_bytes >> 10, c.folder.path, triggers, (double)c.stall_ns / 1e9);
    strobe_find(f, STROBE_HEALTH_OK, "dumps",
                "at most %" PRIu32 " a day and %" PRIu32 " in all, %" PRIu64 " KiB a day and %" PRIu64
                " KiB in all, while the disk has %" PRIu64 " KiB free",
                c.folder.dumps_a_day, c.folder.dumps, c.folder.bytes_a_day >> 10, c.folder.bytes >> 10,
                c.folder.free_bytes >> 10);
    return 0;
}
