#include "engine/cmd/capture/system.h"

#include "engine/cmd/cmd.h"
#include "engine/util/outfile.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_BYTES = 1024, WORDS_BYTES = 256, ATRACE_KB = 16384 };

static const char no_trace[] = "capture: no trace of the system";
static const uint64_t LOCAL_LIMIT_NS = 20000000000;

/* ---- the shell of the device or of this machine */

__attribute__((format(printf, 4, 5))) static bool
run_in_shell(const struct strobe_system *s, struct strobe_program_result *out, int *status, const char *format, ...)
{
    char command[COMMAND_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (s->adb)
        return strobe_adb_shell(s->adb, command, status, out) == 0;
    const char *argv[] = {"sh", "-c", command, NULL};
    strobe_program_run(&(struct strobe_program){.argv = argv, .limit_ns = LOCAL_LIMIT_NS}, out);
    *status = strobe_program_succeeded(out) ? 0 : 1;
    return true;
}

static void complain_of_output(const char *program, const struct strobe_program_result *r)
{
    const char *text = r->output[0] ? r->output : r->errors[0] ? r->errors : "failed";
    strobe_complain("%s: %s: %.*s", no_trace, program, (int)strcspn(text, "\r\n"), text);
}

/* ---- begin */

/* Returns TMPDIR when its name fits and can be quoted for the shell. */
static const char *own_temporary_folder(const struct strobe_system *s)
{
    const char *own = getenv("TMPDIR");
    bool usable =
        own && *own && !strchr(own, '\'') && strlen(own) + sizeof "/strobe-system.4294967295.said" <= sizeof s->said;
    return usable ? own : "/tmp";
}

/* The folders of a device in which perfetto and the shell may write. The shell of a device begins in its root folder.
 */
static void choose_trace_file(struct strobe_system *s)
{
    const char *temporary = s->adb ? "data/local/tmp" : own_temporary_folder(s);
    const char *folder = s->adb && s->has_perfetto ? "data/misc/perfetto-traces" : temporary;
    snprintf(s->file, sizeof s->file, "%s/strobe-system.%d", folder, (int)getpid());
    snprintf(s->said, sizeof s->said, "%s/strobe-system.%d.said", temporary, (int)getpid());
}

static void separate_by_blanks(const char *categories, char words[WORDS_BYTES])
{
    snprintf(words, WORDS_BYTES, "%s", categories);
    for (char *at = words; *at; at++)
        *at = *at == ',' ? ' ' : *at;
}

/* perfetto ends by a signal, or with this time at the latest. --background-wait returns when the sources of data have
 * been started, which may take seconds; perfetto before Android 12 has only --background. It prints its process id, to
 * a file, because the process in the background may keep its output open. */
static bool begin_perfetto(struct strobe_system *s, const char *words)
{
    struct strobe_program_result r;
    int status;
    if (!run_in_shell(s, &r, &status,
                      "begin() { perfetto $1 -t 24h -o '%s' %s >'%s' 2>&1; }; "
                      "begin --background-wait || begin --background; e=$?; cat '%s'; rm -f '%s'; (exit $e)",
                      s->file, words, s->said, s->said, s->said))
        return false;
    char *last = strrchr(r.output, '\n');
    s->pid = atoi(last ? last + 1 : r.output);
    if (!status && s->pid > 0)
        return true;
    complain_of_output("perfetto", &r);
    return false;
}

static bool begin_atrace(const struct strobe_system *s, const char *words)
{
    struct strobe_program_result r;
    int status;
    if (!run_in_shell(s, &r, &status, "atrace --async_start -b %d %s", ATRACE_KB, words))
        return false;
    if (!status && !strstr(r.output, "rror"))
        return true;
    complain_of_output("atrace", &r);
    return false;
}

void strobe_system_begin(struct strobe_system *s, const char *categories)
{
    struct strobe_program_result r;
    char words[WORDS_BYTES];
    int status;
    if (!run_in_shell(s, &r, &status, "command -v perfetto || command -v atrace"))
        return;
    if (status) {
        strobe_complain("%s: there is no program perfetto or atrace on %s", no_trace,
                        s->adb ? "the device" : "this machine");
        return;
    }
    s->has_perfetto = strstr(r.output, "perfetto") != NULL;
    choose_trace_file(s);
    separate_by_blanks(categories, words);
    if (s->has_perfetto ? begin_perfetto(s, words) : begin_atrace(s, words))
        s->stage = STROBE_SYSTEM_RUNS;
}

/* ---- end */

/* perfetto writes the rest of its file after the signal. */
static bool end_perfetto(const struct strobe_system *s, struct strobe_program_result *r)
{
    int status;
    return run_in_shell(s, r, &status,
                        "kill -TERM %d; i=0; while kill -0 %d && [ $i -lt 50 ]; do sleep 0.2; i=$((i+1)); done; "
                        "[ -s '%s' ] || echo it has written nothing",
                        s->pid, s->pid, s->file);
}

static bool end_atrace(const struct strobe_system *s, struct strobe_program_result *r)
{
    int status;
    return run_in_shell(s, r, &status,
                        "atrace --async_stop -o '%s' >/dev/null; [ -s '%s' ] || echo it has written nothing", s->file,
                        s->file);
}

static bool end_program(const struct strobe_system *s, struct strobe_program_result *r)
{
    return s->has_perfetto ? end_perfetto(s, r) : end_atrace(s, r);
}

void strobe_system_end(struct strobe_system *s)
{
    struct strobe_program_result r;
    if (s->stage != STROBE_SYSTEM_RUNS)
        return;
    bool answered = end_program(s, &r);
    s->stage = STROBE_SYSTEM_WRITTEN;
    if (answered && strstr(r.output, "it has written nothing")) {
        complain_of_output(s->has_perfetto ? "perfetto" : "atrace",
                           &(struct strobe_program_result){.output = "it has written nothing"});
        strobe_system_leave(s);
    }
}

/* ---- the file */

bool strobe_system_name(const char *stem, bool has_perfetto, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s.system.%s", stem, has_perfetto ? "perfetto-trace" : "atrace") < PATH_MAX;
}

static void take_trace_part(void *ctx, const void *data, size_t bytes)
{
    strobe_outfile_write(ctx, data, bytes);
}

/* Copies the file from the device, or from where the program has written it here. */
static bool copy_trace(const struct strobe_system *s, struct strobe_outfile *file)
{
    struct strobe_program_result r;
    const struct strobe_program_sink sink = {take_trace_part, file};
    const char *argv[] = {"cat", s->file, NULL};
    if (s->adb)
        return strobe_adb_read_file(s->adb, s->file, &sink) == 0;
    strobe_program_run(&(struct strobe_program){.argv = argv, .sink = &sink}, &r);
    if (strobe_program_succeeded(&r))
        return true;
    complain_of_output("cat", &r);
    return false;
}

bool strobe_system_fetch(struct strobe_system *s, const char *stem, bool replace, char path[PATH_MAX])
{
    struct strobe_outfile file;
    if (s->stage != STROBE_SYSTEM_WRITTEN || !strobe_system_name(stem, s->has_perfetto, path))
        return false;
    enum strobe_status status = strobe_outfile_open(&file, path, replace);
    bool copied = status == STROBE_OK && copy_trace(s, &file);
    if (status == STROBE_OK) {
        status = strobe_outfile_finish(&file, !copied);
        copied = copied && status == STROBE_OK;
    }
    if (status != STROBE_OK)
        strobe_complain("%s: %s", path, status == STROBE_EXISTS ? "exists already" : strerror(errno));
    strobe_system_leave(s);
    return copied;
}

static enum strobe_status copy_file(struct strobe_outfile *to, const char *from)
{
    struct strobe_whole_file file;
    enum strobe_status status = strobe_whole_file_open(from, &file);
    if (status != STROBE_OK)
        return status;
    strobe_outfile_write(to, file.at, file.bytes);
    strobe_whole_file_close(&file);
    return STROBE_OK;
}

enum strobe_status strobe_system_append(const char *system, const char *output)
{
    struct strobe_outfile file;
    enum strobe_status status = strobe_outfile_open(&file, output, 1);
    if (status != STROBE_OK)
        return status;
    if ((status = copy_file(&file, output)) == STROBE_OK)
        status = copy_file(&file, system);
    if (status != STROBE_OK) {
        int error = errno;
        strobe_outfile_finish(&file, 1);
        errno = error;
        return status;
    }
    status = strobe_outfile_finish(&file, 0);
    if (status == STROBE_OK)
        unlink(system);
    return status;
}

void strobe_system_leave(struct strobe_system *s)
{
    struct strobe_program_result r;
    int status;
    if (s->stage == STROBE_SYSTEM_RUNS)
        end_program(s, &r);
    if (s->stage != STROBE_SYSTEM_OFF)
        run_in_shell(s, &r, &status, "rm -f '%s'", s->file);
    s->stage = STROBE_SYSTEM_OFF;
}
