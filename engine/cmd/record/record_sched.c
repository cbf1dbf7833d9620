/* `--sched` of `strobe record` and `strobe attach`: the scheduling of the threads, as the kernel records it, in the
 * sessions of their programs. */
#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strobe_record_begin_sched(const struct strobe_record_options *o, pid_t pid, const char *session)
{
    struct strobe_error why = {""};
    char left[STROBE_SCHED_INSTANCE_BYTES];
    strobe_sched_tracefs_visit_left(true, left);
    enum strobe_status status = o->attached ? strobe_sched_recorder_attach(o->sched, pid, &why)
                                            : strobe_sched_recorder_open(o->sched, pid, o->config.follow, &why);
    if (status == STROBE_OK) {
        status = strobe_sched_family_create_file(strobe_sched_recorder_family(o->sched), session);
        if (status != STROBE_OK)
            strobe_sched_recorder_close(o->sched);
    }
    if (status == STROBE_UNSUPPORTED)
        strobe_complain("--sched: scheduling is not recorded: %s", why.text);
    else if (status != STROBE_OK)
        strobe_complain("--sched: scheduling is not recorded: %s", strerror(errno));
    else if (strobe_sched_recorder_source(o->sched) == STROBE_SCHED_BY_SWITCHES && !o->quiet)
        strobe_complain("--sched: without wake-ups and wakers: %s", o->sched->perf.limit.text);
}

/* A session, and its program's scheduling. */
struct session_program {
    struct strobe_sched_program *program; /* NULL: nothing is recorded of it */
    uint64_t begin_ns, to_ns;
};

static void find_session_program(struct strobe_sched_family *f, const char *path, struct session_program *out)
{
    struct strobe_session s;
    *out = (struct session_program){.to_ns = UINT64_MAX};
    if (strobe_session_open(path, &s) != STROBE_OK)
        return;
    out->begin_ns = s.header->begin.boottime_ns;
    out->program = strobe_sched_family_find(f, s.header->pid, out->begin_ns);
    strobe_session_unmap(&s);
}

/* Sessions of one program divide its events by time: only where the record of an exec is lost there are several.
 * Afterwards until_ns of a program is the begin of its first session. */
static void divide_programs(struct strobe_sched_family *f, const struct strobe_session_set *sessions,
                            struct session_program *of)
{
    for (size_t i = sessions->count; i-- > 0;) {
        find_session_program(f, sessions->paths[i], &of[i]);
        if (!of[i].program)
            continue;
        of[i].to_ns = of[i].program->until_ns;
        of[i].program->until_ns = of[i].begin_ns;
    }
}

/* The kernel does not name the process of a lost event: each session has the losses of the whole recording. */
static int append_to_sessions(struct strobe_sched_recorder *r, const struct strobe_session_set *sessions)
{
    struct strobe_sched_family *family = strobe_sched_recorder_family(r);
    const struct strobe_sched_head head = {
        .source = strobe_sched_recorder_source(r), .lost = strobe_sched_recorder_lost(r), .refused = family->refused};
    struct session_program *of = calloc(sessions->count + 1, sizeof *of);
    if (!of)
        return strobe_complain("--sched: %s", strerror(ENOMEM));
    int result = 0;
    divide_programs(family, sessions, of);
    for (size_t i = 0; i < sessions->count && !result; i++) {
        bool first = !of[i].program || of[i].program->until_ns == of[i].begin_ns;
        enum strobe_status status = strobe_sched_family_append(family, of[i].program, &head, sessions->paths[i],
                                                               first ? 0 : of[i].begin_ns, of[i].to_ns);
        if (status != STROBE_OK)
            result = strobe_complain("%s: cannot append its scheduling: %s", sessions->paths[i],
                                     status == STROBE_IO ? strerror(errno) : strobe_status_text(status));
    }
    free(of);
    return result;
}

int strobe_record_store_sched(const struct strobe_record_options *o, const struct strobe_session_set *sessions)
{
    struct strobe_sched_recorder *r = o->sched;
    if (!strobe_sched_recorder_runs(r))
        return 0;
    strobe_sched_recorder_end(r);
    const struct strobe_sched_family *family = strobe_sched_recorder_family(r);
    uint64_t lost = strobe_sched_recorder_lost(r), refused = family->refused;
    int status = append_to_sessions(r, sessions);
    if (!status && family->error)
        status = strobe_complain("--sched: scheduling is recorded in part: %s", strerror(family->error));
    else if (!status && !o->quiet && lost + refused)
        strobe_complain("--sched: %" PRIu64 " events of scheduling are lost: %" PRIu64
                        " found the kernel's buffers full, %" PRIu64 " were beyond the most that are kept",
                        lost + refused, lost, refused);
    strobe_sched_recorder_close(r);
    return status;
}
