/* What `strobe record` and `strobe attach` do with the sessions of a recording. */
#include "engine/base/error_format.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/symbols/jit_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Stores whether the program has loaded the engine, which attaches to the session. Returns the status of reading the
 * session. */
static enum strobe_status find_attached(const char *path, bool *attached)
{
    struct strobe_session s;
    enum strobe_status status = strobe_session_open(path, &s);
    if (status != STROBE_OK)
        return status;
    *attached = strobe_load_relaxed(&s.header->state) != STROBE_SESSION_CREATED;
    strobe_session_unmap(&s);
    return STROBE_OK;
}

static void print_recording_summary(const struct strobe_record_options *o, const char *trace,
                                    const struct strobe_convert_stats *stats)
{
    if (o->quiet || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "strobe: %s: %llu slices, %llu bytes", trace, (unsigned long long)stats->timeline.slices,
            (unsigned long long)stats->bytes);
    if (stats->processes > 1)
        fprintf(stderr, ", %llu processes", (unsigned long long)stats->processes);
    fputc('\n', stderr);
}

static int convert_recording(const struct strobe_record_options *o, const struct strobe_session_set *sessions)
{
    struct strobe_convert_options how = {.format = o->format, .deflate = o->deflate, .replace = o->replace};
    struct strobe_convert_stats stats;
    struct strobe_error error;
    if (strobe_convert_set(sessions, o->trace, &how, &stats, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    print_recording_summary(o, o->trace, &stats);
    if (!o->quiet)
        strobe_convert_print_nameless(&stats, stderr);
    return 0;
}

/* Copies the names of generated code into the session, because the files with these names do not exist any more when
 * the session is read later. *lost is set when they cannot be copied. */
static void keep_jit_names(const struct strobe_record_options *o, const char *session, struct strobe_error *lost)
{
    struct strobe_jit_names kept;
    enum strobe_status status = strobe_jit_names_keep(session, ".", &kept);
    if (status != STROBE_OK && status != STROBE_NO_ENTRY)
        strobe_error_set(lost, "%s: cannot keep the names of generated code: %s", session,
                         status == STROBE_IO ? strerror(errno) : strobe_status_text(status));
    if (kept.unused[0] && !o->quiet)
        strobe_complain("%s; its names of generated code are not used", kept.unused);
    if (kept.bad && !o->quiet)
        strobe_complain("%s: expected a name of generated code (%llu such places were left out)", kept.first_bad,
                        (unsigned long long)kept.bad);
}

/* A program without calls was probably not built with -finstrument-functions. */
static void warn_of_no_calls(const char *path, const char *program)
{
    struct strobe_session s;
    if (strobe_session_open(path, &s) != STROBE_OK)
        return;
    bool none = s.calls.head && !strobe_load_relaxed(&s.calls.head->next);
    strobe_session_unmap(&s);
    if (none)
        strobe_complain("%s: no calls: was it built with -finstrument-functions?", program);
}

static uint64_t children_left(const char *path)
{
    struct strobe_session s;
    if (strobe_session_open(path, &s) != STROBE_OK)
        return 0;
    uint32_t left = strobe_load_relaxed(&s.header->children_left);
    strobe_session_unmap(&s);
    return left;
}

/* Reports child processes that were not recorded, because a build or a script does its work in them. With --follow,
 * only children whose session could not be made are counted. */
static void print_children_left(const struct strobe_record_options *o, const struct strobe_session_set *sessions)
{
    uint64_t left = 0;
    for (size_t i = 0; i < sessions->count; i++)
        left += children_left(sessions->paths[i]);
    const char *were = left == 1 ? " was" : "es were";
    if (left && o->attached)
        strobe_complain("%llu child process%s not recorded", (unsigned long long)left, were);
    else if (left && o->config.follow)
        strobe_complain("%llu child process%s not recorded: no session could be made", (unsigned long long)left, were);
    else if (left)
        strobe_complain("%llu child process%s not recorded (--follow records %s)", (unsigned long long)left, were,
                        left == 1 ? "it" : "them");
}

int strobe_record_keep(const struct strobe_record_options *o, const char *program, const char *session, int wait_status)
{
    struct strobe_session_set sessions;
    bool attached;
    enum strobe_status opened = find_attached(session, &attached);
    if (opened != STROBE_OK)
        return strobe_complain("%s: %s", session, opened == STROBE_IO ? strerror(errno) : strobe_status_text(opened));
    if (!attached) {
        strobe_record_discard(o, session);
        return strobe_complain("%s: ran untraced: it did not load the engine", program);
    }
    int status = strobe_record_list(o, session, &sessions);
    if (status)
        return status;
    strobe_record_store_end(&sessions, session, wait_status);
    struct strobe_error lost = {""};
    for (size_t i = 0; i < sessions.count; i++)
        keep_jit_names(o, sessions.paths[i], &lost);
    status = strobe_record_store_sched(o, &sessions);
    if (!status && o->convert)
        status = convert_recording(o, &sessions);
    if (!status && lost.text[0])
        strobe_complain("%s", lost.text);
    warn_of_no_calls(session, program);
    if (!o->quiet)
        print_children_left(o, &sessions);
    strobe_session_set_free(&sessions);
    return status;
}
