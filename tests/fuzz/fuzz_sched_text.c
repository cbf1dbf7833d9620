/* Any lines of ftrace's scheduling events, of which any may be missing: the stored events of each program are by time,
 * and follow from each other for each thread. Each event that the family has kept is stored.
 *
 * The input is a program of 3 bytes for each line: the event and its processor, the thread of the line and the thread
 * that the event names, the time since the line before and whether this line is lost. Ids are used again by the
 * kernel's rules. Lines have the forms of Linux 6. Bytes from 0xf0 on, instead of an event, give up to 64 further bytes
 * as text.
 */
#include "engine/cmd/record/tracefs/sched_text.h"
#include "engine/trace/import/ftrace/ftrace_text.h"
#include "tests/fuzz/support/bytes.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/session_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_TID = 5, TIDS = 7, CPUS = 4, RAW_FROM = 0xf0, RAW_BYTES = 64, LOST_FROM = 0xe0, PASS_US = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The session to which events are appended: a file in memory. */
static struct {
    char path[32];
    int fd;
    uint64_t bytes;
} session = {.fd = -1};

static void copy_to_memory(const char *path)
{
    char block[4096];
    size_t got;
    FILE *from = fopen(path, "rb");
    session.fd = memfd_create("session", MFD_CLOEXEC);
    fuzz_require(from && session.fd >= 0);
    while ((got = fread(block, 1, sizeof block, from)) > 0) {
        fuzz_require(write(session.fd, block, got) == (ssize_t)got);
        session.bytes += got;
    }
    fclose(from);
    snprintf(session.path, sizeof session.path, "/proc/self/fd/%d", session.fd);
}

static void make_session(void)
{
    char path[TEMPORARY_BYTES];
    struct strobe_config config = strobe_build_config();
    struct strobe_build b;
    int fd = mkstemp(temporary_path(path, "strobe-fuzz.XXXXXX"));
    fuzz_require(fd >= 0);
    close(fd);
    strobe_build_begin(&b, path, &config);
    strobe_build_thread(&b, FIRST_TID, "main");
    strobe_build_end(&b, 1000);
    copy_to_memory(path);
    unlink(path);
}

/* ---- lines */

struct lines {
    struct fuzz_bytes input;
    struct strobe_ftrace_reader reader;
    struct strobe_sched_family *family;
    uint32_t process[FIRST_TID + TIDS]; /* by thread; 0 = there is no such thread */
    uint64_t us, passed_us;
    bool loses; /* the next line */
};

static int write_head(const struct lines *l, char *text, size_t bytes, unsigned cpu, uint32_t tid, bool interrupt)
{
    return snprintf(text, bytes, "  a b-%u [%03u] d.%c2. %u.%06u: ", tid, cpu, interrupt ? 'h' : '.',
                    (unsigned)(l->us / 1000000), (unsigned)(l->us % 1000000));
}

/* A thread that executes a program gets the id of its process, whose other threads have ended. */
static uint32_t execute(struct lines *l, uint32_t tid)
{
    uint32_t process = l->process[tid];
    for (uint32_t i = 0; i < FIRST_TID + TIDS; i++)
        if (l->process[i] == process)
            l->process[i] = 0;
    return l->process[process] = process;
}

/* An id is used again after the thread before has ended, and that of a process after all its threads have. */
static bool is_free(const struct lines *l, uint32_t tid)
{
    bool used = !tid;
    for (uint32_t i = 0; i < FIRST_TID + TIDS; i++)
        used |= l->process[i] && (i == tid || l->process[i] == tid);
    return !used;
}

static void feed_event(struct lines *l, unsigned event, unsigned cpu, uint32_t tid, uint32_t other)
{
    static const char *const states[] = {"S", "D", "R", "R+", "X", "I"};
    char text[320];
    int head = write_head(l, text, sizeof text, cpu, event == 4 && l->process[tid] ? l->process[tid] : tid, other & 1);
    char *at = text + head;
    size_t room = sizeof text - (size_t)head;
    if (event == 3 && l->process[tid] && is_free(l, other)) {
        bool thread = l->us & 1;
        l->process[other] = thread ? l->process[tid] : other;
        snprintf(at, room, "task_newtask: pid=%u comm=x clone_flags=%s oom_score_adj=0\n", other,
                 thread ? "3d0f00" : "1200000");
    } else if (event == 4 && l->process[tid]) {
        snprintf(at, room, "sched_process_exec: filename=/x y pid=%u old_pid=%u\n", execute(l, tid), tid);
    } else if (event == 5) {
        l->process[tid] = 0;
        snprintf(at, room, "sched_process_exit: comm=x pid=%u prio=120 group_dead=true\n", tid);
    } else if (event == 2) {
        snprintf(at, room, "sched_waking: comm=x pid=%u prio=120 target_cpu=001\n", other);
    } else {
        snprintf(at, room,
                 "sched_switch: prev_comm=a b prev_pid=%u prev_prio=120 prev_state=%s ==> next_comm=c next_pid=%u "
                 "next_prio=120\n",
                 tid, states[(l->us + event) % 6], other);
    }
    if (!l->loses)
        strobe_ftrace_text_feed(&l->reader, text, strlen(text));
}

static uint32_t tid_of(unsigned number)
{
    return number % (TIDS + 1) ? FIRST_TID - 1 + number % (TIDS + 1) : 0;
}

static void feed_next(struct lines *l)
{
    char raw[RAW_BYTES + 1] = "";
    unsigned what = fuzz_byte(&l->input);
    if (what >= RAW_FROM) {
        for (unsigned i = 0; i < (what - RAW_FROM + 1) * 4; i++)
            raw[i] = (char)fuzz_byte(&l->input);
        strobe_ftrace_text_feed(&l->reader, raw, strlen(raw));
        return;
    }
    unsigned tids = fuzz_byte(&l->input), later = fuzz_byte(&l->input);
    l->us += later % 16;
    l->loses = later >= LOST_FROM;
    feed_event(l, what % 6, what / 6 % CPUS, tid_of(tids), tid_of(tids / 16));
    if (l->us > l->passed_us + 2 * PASS_US) {
        l->passed_us = l->us - PASS_US;
        strobe_sched_family_pass(l->family, l->passed_us * 1000);
    }
}

/* ---- the stored events */

enum thread_state { NEW, RUNNING, SLEEPING, READY, ENDED };

static enum thread_state after_event(enum thread_state was, const struct strobe_sched_event *e)
{
    switch (e->what) {
    case STROBE_SCHED_IN: fuzz_require(was != RUNNING); return RUNNING;
    case STROBE_SCHED_OUT:
        fuzz_require(was == RUNNING || was == NEW);
        return e->state == STROBE_SCHED_RUNNABLE ? READY : SLEEPING;
    case STROBE_SCHED_WAKE: fuzz_require(was != RUNNING && was != READY); return READY;
    default: fuzz_require(e->what == STROBE_SCHED_END && was != ENDED); return ENDED;
    }
}

/* Returns the number of events. */
static uint64_t check_program(const struct strobe_sched_family *family, const struct strobe_sched_program *program)
{
    const struct strobe_sched_head head = {.source = STROBE_SCHED_BY_TRACEPOINTS};
    struct strobe_sched_section section;
    enum thread_state state[FIRST_TID + TIDS] = {NEW};
    fuzz_require(strobe_sched_family_append(family, program, &head, session.path, 0, UINT64_MAX) == STROBE_OK);
    fuzz_require(strobe_sched_section_open(session.path, session.bytes, &section) == STROBE_OK);
    fuzz_require(section.damaged == 0);
    fuzz_require(section.name_count == section.head.names);
    for (size_t i = 0; i < section.count; i++) {
        const struct strobe_sched_event *e = &section.events[i];
        fuzz_require(i == 0 || e[-1].time_ns <= e->time_ns);
        if (e->tid < FIRST_TID + TIDS)
            state[e->tid] = after_event(state[e->tid], e);
    }
    uint64_t count = section.count;
    strobe_sched_section_close(&section);
    fuzz_require(ftruncate(session.fd, (off_t)session.bytes) == 0);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_sched_family family = {.file = -1};
    struct strobe_sched_text text = {.family = &family};
    const struct strobe_ftrace_visitor visitor = {.ctx = &text, .event = strobe_sched_text_take};
    struct lines lines = {.input = {data, bytes}, .family = &family, .us = 1000};
    if (session.fd < 0)
        make_session();
    family.file = memfd_create("events", MFD_CLOEXEC);
    fuzz_require(family.file >= 0);
    unsigned how = fuzz_byte(&lines.input);
    text.awaited = how & 1 ? FIRST_TID : 0;
    lines.process[FIRST_TID] = FIRST_TID;
    fuzz_require(strobe_sched_text_know(&text, FIRST_TID, FIRST_TID));
    const struct strobe_sched_note found = {.event = {.time_ns = 1000, .tid = FIRST_TID, .what = STROBE_SCHED_IN},
                                            .pid = FIRST_TID,
                                            .kind = STROBE_SCHED_FOUND};
    if (how == 2)
        fuzz_require(strobe_sched_text_hold(&text, &found));
    strobe_ftrace_text_open(&lines.reader, &visitor);
    while (lines.input.left)
        feed_next(&lines);
    strobe_ftrace_text_close(&lines.reader);
    strobe_sched_text_release(&text);
    strobe_sched_family_finish(&family);
    uint64_t count = 0;
    for (size_t i = 0; i < family.program_count; i++)
        count += check_program(&family, &family.programs[i]);
    fuzz_require(family.error == 0 && family.refused == 0 && count == family.kept);
    strobe_sched_text_free(&text);
    strobe_sched_family_close(&family);
    return 0;
}
