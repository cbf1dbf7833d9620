#include "engine/cmd/record/sched_recorder.h"

#include "engine/base/error_format.h"

#include <time.h>

static const uint64_t PIPE_WAIT_NS = 50000000; /* a buffer has space for 16000 events */

static enum strobe_status open_either(struct strobe_sched_recorder *r, pid_t pid, bool family, bool attached,
                                      struct strobe_error *why)
{
    struct strobe_error second = {""};
    r->refused = (struct strobe_error){""};
    r->way = STROBE_SCHED_NO_WAY;
    enum strobe_status status = attached ? strobe_sched_perf_attach(&r->perf, pid, &r->refused)
                                         : strobe_sched_perf_open(&r->perf, pid, family, &r->refused);
    if (status == STROBE_OK)
        r->way = STROBE_SCHED_BY_PERF;
    if (status != STROBE_UNSUPPORTED)
        return status;
    status = attached ? strobe_sched_tracefs_attach(&r->tracefs, pid, &second)
                      : strobe_sched_tracefs_open(&r->tracefs, pid, family, &second);
    if (status == STROBE_OK)
        r->way = STROBE_SCHED_BY_TRACEFS;
    if (status == STROBE_UNSUPPORTED)
        strobe_error_set(why, "%s; %s", r->refused.text, second.text);
    return status;
}

enum strobe_status strobe_sched_recorder_open(struct strobe_sched_recorder *r, pid_t pid, bool family,
                                              struct strobe_error *why)
{
    return open_either(r, pid, family, false, why);
}

enum strobe_status strobe_sched_recorder_attach(struct strobe_sched_recorder *r, pid_t pid, struct strobe_error *why)
{
    return open_either(r, pid, false, true, why);
}

struct strobe_sched_family *strobe_sched_recorder_family(struct strobe_sched_recorder *r)
{
    return r->way == STROBE_SCHED_BY_PERF ? &r->perf.family : &r->tracefs.family;
}

enum strobe_sched_source strobe_sched_recorder_source(const struct strobe_sched_recorder *r)
{
    return r->way == STROBE_SCHED_BY_PERF ? r->perf.source : STROBE_SCHED_BY_TRACEPOINTS;
}

uint64_t strobe_sched_recorder_lost(const struct strobe_sched_recorder *r)
{
    return r->way == STROBE_SCHED_BY_PERF ? r->perf.lost : r->tracefs.lost;
}

/* The pipe is not polled, because it becomes readable with each event, also those of reading it. */
static void wait_for_pipe(struct strobe_sched_recorder *r, struct pollfd caller, uint64_t most_ns)
{
    uint64_t ns = most_ns < PIPE_WAIT_NS ? most_ns : PIPE_WAIT_NS;
    ppoll(&caller, 1, &(struct timespec){0, (long)ns}, NULL);
    strobe_sched_tracefs_drain(&r->tracefs);
}

void strobe_sched_recorder_wait(struct strobe_sched_recorder *r, struct pollfd caller, uint64_t most_ns)
{
    if (r->way == STROBE_SCHED_BY_TRACEFS) {
        wait_for_pipe(r, caller, most_ns);
        return;
    }
    r->perf.polled[0] = caller;
    strobe_sched_perf_wait(&r->perf, most_ns);
}

void strobe_sched_recorder_drain(struct strobe_sched_recorder *r)
{
    if (r->way == STROBE_SCHED_BY_PERF)
        strobe_sched_perf_drain(&r->perf);
    else
        strobe_sched_tracefs_drain(&r->tracefs);
}

void strobe_sched_recorder_end(struct strobe_sched_recorder *r)
{
    if (r->way == STROBE_SCHED_BY_PERF)
        strobe_sched_perf_end(&r->perf);
    else
        strobe_sched_tracefs_end(&r->tracefs);
}

void strobe_sched_recorder_close(struct strobe_sched_recorder *r)
{
    if (r->way == STROBE_SCHED_BY_PERF)
        strobe_sched_perf_close(&r->perf);
    else if (r->way == STROBE_SCHED_BY_TRACEFS)
        strobe_sched_tracefs_close(&r->tracefs);
    r->way = STROBE_SCHED_NO_WAY;
}
