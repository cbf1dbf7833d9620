/* `strobe record --sched`: the scheduling of the program's threads, as the kernel records it, in its session. */
#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void strobe_record_begin_sched(const struct strobe_record_options *o, pid_t pid, const char *session)
{
    struct strobe_error why = {""};
    enum strobe_status status = strobe_sched_perf_open(o->sched, pid, &why);
    if (status == STROBE_OK && (status = strobe_sched_perf_create_file(o->sched, session)) != STROBE_OK)
        strobe_sched_perf_close(o->sched);
    if (status == STROBE_UNSUPPORTED)
        strobe_complain("--sched: scheduling is not recorded: %s", why.text);
    else if (status != STROBE_OK)
        strobe_complain("--sched: scheduling is not recorded: %s", strerror(errno));
    else if (o->sched->source == STROBE_SCHED_BY_SWITCHES && !o->quiet)
        strobe_complain("--sched: without wake-ups and wakers: %s", o->sched->limit.text);
}

/* Returns when the program of the next session began: the same process has executed it. */
static uint64_t begin_of_next(const struct strobe_session_set *sessions, size_t i)
{
    struct strobe_session s;
    if (i + 1 == sessions->count || strobe_session_open(sessions->paths[i + 1], &s) != STROBE_OK)
        return UINT64_MAX;
    uint64_t begin_ns = s.header->begin.boottime_ns;
    strobe_session_unmap(&s);
    return begin_ns;
}

static int append_to_sessions(const struct strobe_sched_perf *p, const struct strobe_session_set *sessions)
{
    uint64_t from_ns = 0;
    for (size_t i = 0; i < sessions->count; i++) {
        uint64_t to_ns = begin_of_next(sessions, i);
        enum strobe_status status = strobe_sched_section_append(sessions->paths[i], &p->head, p->file, from_ns, to_ns);
        if (status != STROBE_OK)
            return strobe_complain("%s: cannot append its scheduling: %s", sessions->paths[i],
                                   status == STROBE_IO ? strerror(errno) : strobe_status_text(status));
        from_ns = to_ns;
    }
    return 0;
}

int strobe_record_store_sched(const struct strobe_record_options *o, const struct strobe_session_set *sessions)
{
    struct strobe_sched_perf *p = o->sched;
    if (!p || !p->ring_count)
        return 0;
    strobe_sched_perf_drain(p, true);
    p->head.source = p->source;
    int status = append_to_sessions(p, sessions);
    if (!status && p->error)
        status = strobe_complain("--sched: scheduling is recorded in part: %s", strerror(p->error));
    else if (!status && !o->quiet && p->head.lost + p->head.refused)
        strobe_complain("--sched: %" PRIu64 " events of scheduling are lost: %" PRIu64
                        " found the kernel's buffers full, %" PRIu64 " were beyond the most that are kept",
                        p->head.lost + p->head.refused, p->head.lost, p->head.refused);
    strobe_sched_perf_close(p);
    return status;
}
