/* strobe record: runs a program with the engine inside, and makes a trace of what it left. */
#include "engine/trace/convert.h"
#include "sim/cmd/cmd.h"
#include "sim/cmd/record.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int create_session(struct strobe_record_options *o, char **argv, char *path)
{
    char command[1024] = "";
    size_t n = 0;
    for (char **a = argv; *a && n + 1 < sizeof command; a++)
        n += (size_t)snprintf(command + n, sizeof command - n, "%s%s", n ? " " : "", *a);
    struct strobe_session made;
    switch (strobe_session_create(o->session, &o->config, command, o->replace, &made)) {
    case STROBE_OK:
        break;
    case STROBE_EXISTS:
        return strobe_complain("%s: exists already; --force overwrites it", o->session);
    case STROBE_BAD_INPUT:
        return strobe_complain("record: the options do not fit together");
    default:
        return strobe_complain("%s: cannot make a session of %llu MiB there: %s", o->session,
                               (unsigned long long)(strobe_session_file_bytes(&o->config) >> 20), strerror(errno));
    }
    if (made.fd >= 0)
        close(made.fd);
    strobe_session_unmap(&made);
    if (!realpath(o->session, path)) {
        int why = errno;
        unlink(o->session);
        return strobe_complain("%s: %s", o->session, strerror(why));
    }
    return 0;
}

/* Empty for a session that no process has attached to. */
static bool was_attached(const char *path)
{
    struct strobe_session s;
    if (strobe_session_open(path, &s) != STROBE_OK)
        return false;
    bool attached = strobe_load_relaxed(&s.header->state) != STROBE_SESSION_CREATED;
    strobe_session_unmap(&s);
    return attached;
}

static void tell(const struct strobe_record_options *o, const char *trace, const struct strobe_convert_stats *stats)
{
    if (o->quiet || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "strobe: %s: %llu slices, %llu bytes\n", trace, (unsigned long long)stats->timeline.slices,
            (unsigned long long)stats->bytes);
}

static int convert(const struct strobe_record_options *o, const char *session, const char *trace)
{
    struct strobe_convert_options how = {.format = o->format, .deflate = o->deflate,
                                         .replace = o->replace};
    struct strobe_convert_stats stats;
    char why[1024];
    if (strobe_convert(session, trace, &how, &stats, why, sizeof why) != STROBE_OK)
        return strobe_complain("%s", why);
    tell(o, trace, &stats);
    return 0;
}

/* ---- sessions that children and exec left beside ours ---- */

/* SESSION.PID and SESSION.execN become STEM.PID.ENDING and STEM.execN.ENDING, as the trace is STEM.ENDING. */
static void name_trace(const char *trace, const char *suffix, char *out, size_t out_bytes)
{
    const char *slash = strrchr(trace, '/'), *dot = strrchr(trace, '.');
    if (!dot || (slash && dot < slash))
        dot = trace + strlen(trace);
    snprintf(out, out_bytes, "%.*s%s%s", (int)(dot - trace), trace, suffix, dot);
}

static int convert_others(const struct strobe_record_options *o, const char *session)
{
    char folder[PATH_MAX], path[2 * PATH_MAX], trace[2 * PATH_MAX];
    const char *base = strrchr(session, '/') + 1;
    size_t n = strlen(base);
    int status = 0;
    snprintf(folder, sizeof folder, "%.*s", (int)(base - session), session);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        const char *suffix = e->d_name + n;
        if (strncmp(e->d_name, base, n) || suffix[0] != '.' || suffix[strspn(suffix, ".0123456789exc")])
            continue;
        snprintf(path, sizeof path, "%s%s", folder, e->d_name);
        strobe_session_trim(path);
        name_trace(o->trace, suffix, trace, sizeof trace);
        if (o->convert && convert(o, path, trace))
            status = STROBE_EXIT_BAD;
    }
    if (d)
        closedir(d);
    return status;
}

/* ---- all of it ---- */

/* A program that tells no calls was most likely not built to. */
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

/* Frame pointers where the program keeps them, libunwind where it is there. */
static int choose_unwinder(struct strobe_record_options *o, const char *program, bool has_frame_pointers)
{
    if (o->unwind_auto)
        o->config.unwind = has_frame_pointers ? STROBE_UNWIND_FP : STROBE_UNWIND_DWARF;
    if (o->config.unwind == STROBE_UNWIND_FP)
        return 0;
    void *unwinder = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    if (unwinder) {
        dlclose(unwinder);
        return 0;
    }
    if (!o->unwind_auto)
        return strobe_complain("record: --unwind dwarf needs libunwind.so.8; on Debian: apt-get install libunwind8");
    strobe_complain("%s keeps no frame pointers and libunwind.so.8 is missing: its stacks will be cut short; "
                    "on Debian: apt-get install libunwind8",
                    program);
    o->config.unwind = STROBE_UNWIND_FP;
    return 0;
}

int strobe_cmd_record(int argc, char **argv)
{
    struct strobe_record_options o;
    int first, wait_status = 0;
    int status = strobe_record_parse(argc, argv, &o, &first);
    if (status || !first)
        return status;
    char program[PATH_MAX], session[PATH_MAX];
    bool has_frame_pointers;
    if ((status = strobe_record_find_program(argv[first], program, sizeof program, &has_frame_pointers)) != 0)
        return status;
    if ((status = choose_unwinder(&o, program, has_frame_pointers)) != 0)
        return status;
    if ((status = create_session(&o, argv + first, session)) != 0)
        return status;
    if ((status = strobe_record_run(program, argv + first, session, &wait_status)) != 0) {
        unlink(session);
        return status;
    }
    int converted = 0;
    strobe_session_trim(session);
    if (!was_attached(session))
        converted = strobe_complain("%s: ran untraced: it did not load the engine", program);
    else if (o.convert)
        converted = convert(&o, session, o.trace);
    if (was_attached(session))
        warn_of_no_calls(session, program);
    if (was_attached(session) && convert_others(&o, session))
        converted = STROBE_EXIT_BAD;
    int ended = strobe_record_end_as(wait_status);
    return ended ? ended : converted;
}
