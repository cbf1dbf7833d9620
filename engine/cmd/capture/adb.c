#include "engine/cmd/capture/adb.h"

#include "engine/cmd/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX = 8, COMMAND_BYTES = 1024, END_BYTES = 16 };

static const uint64_t STEP_LIMIT_NS = 20000000000;

/* ---- adb ---- */

/* Returns the line that says what is wrong. Lines about the start of adb's server come before it. */
static const char *find_message(const char *text)
{
    while (*text == '*' && strchr(text, '\n'))
        text = strchr(text, '\n') + 1;
    return text;
}

/* Prints adb's own message, without the words before it. */
static int complain_of_adb(const struct strobe_program_result *r)
{
    static const char *const heads[] = {"adb: ", "error: ", "adb: error: "};
    if (r->end == STROBE_PROGRAM_INTERRUPTED)
        return STROBE_EXIT_BAD;
    if (r->end == STROBE_PROGRAM_MISSING)
        return strobe_complain("capture: adb: %s (Debian: apt install adb)", strerror(r->status));
    if (r->end == STROBE_PROGRAM_TIMED_OUT)
        return strobe_complain("capture: adb: no answer from the device for 20 s");
    const char *text = find_message(r->errors[0] ? r->errors : r->output);
    for (size_t i = 0; i < 2 * sizeof heads / sizeof *heads; i++) {
        const char *head = heads[i % (sizeof heads / sizeof *heads)];
        if (!strncmp(text, head, strlen(head)))
            text += strlen(head);
    }
    return strobe_complain("capture: adb: %.*s", (int)strcspn(text, "\r\n"), text[0] ? text : "failed");
}

/* Runs adb with arguments that end with NULL. */
static void try_adb(const struct strobe_adb *adb, const char *const *arguments, struct strobe_program_result *out)
{
    const char *argv[ARGUMENTS_MAX + 4] = {"adb"};
    size_t n = 1;
    if (adb->serial) {
        argv[n++] = "-s";
        argv[n++] = adb->serial;
    }
    for (size_t i = 0; arguments[i] && i < ARGUMENTS_MAX; i++)
        argv[n++] = arguments[i];
    strobe_program_run(&(struct strobe_program){.argv = argv, .interrupt = adb->interrupt, .limit_ns = STEP_LIMIT_NS},
                       out);
}

/* Does the same, and complains of a failure. */
static int run_adb(const struct strobe_adb *adb, const char *const *arguments, struct strobe_program_result *out)
{
    try_adb(adb, arguments, out);
    return strobe_program_succeeded(out) ? 0 : complain_of_adb(out);
}

/* ---- the device's shell ---- */

/* Runs a command of the device's shell. *status is its exit status, which old devices do not pass on by themselves:
 * the shell prints it behind the output. */
__attribute__((format(printf, 4, 5))) static int
run_shell(const struct strobe_adb *adb, struct strobe_program_result *out, int *status, const char *format, ...)
{
    char command[COMMAND_BYTES];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(command, sizeof command - END_BYTES, format, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof command - END_BYTES)
        return strobe_complain("capture: the command for the device is too long: %.60s...", command);
    strcpy(command + n, " 2>&1; echo =$?");
    int failed = run_adb(adb, (const char *const[]){"shell", command, NULL}, out);
    if (failed)
        return failed;
    char *mark = strrchr(out->output, '=');
    if (!mark)
        return strobe_complain("capture: the device's shell ended early: %.60s", out->output);
    *status = atoi(mark + 1);
    while (mark > out->output && strchr("\r\n", mark[-1]))
        mark--;
    *mark = '\0';
    return 0;
}

int strobe_adb_find(const struct strobe_adb *adb)
{
    struct strobe_program_result r;
    int failed = run_adb(adb, (const char *const[]){"get-state", NULL}, &r);
    if (failed || !strcmp(r.output, "device"))
        return failed;
    return strobe_complain("capture: expected a device that is ready, this one is: %s", r.output);
}

int strobe_adb_check_app(const struct strobe_adb *adb, const char *package)
{
    struct strobe_program_result r;
    int status, failed = run_shell(adb, &r, &status, "pm path %s", package);
    if (failed)
        return failed;
    if (status || strncmp(r.output, "package:", 8) != 0)
        return strobe_complain("capture: %s: no app of that name is installed on the device", package);
    if ((failed = run_shell(adb, &r, &status, "run-as %s id", package)) != 0 || !status)
        return failed;
    if ((failed = run_shell(adb, &r, &status, "id -u")) != 0 || !strcmp(r.output, "0"))
        return failed;
    return strobe_complain("capture: %s: expected a debuggable app, or a root shell (adb root)", package);
}

int strobe_adb_find_process(const struct strobe_adb *adb, const char *package, int *pid)
{
    struct strobe_program_result r;
    int status, failed = run_shell(adb, &r, &status, "pidof %s", package);
    if (!failed)
        *pid = status ? 0 : atoi(r.output);
    return failed;
}

int strobe_adb_check_library(const struct strobe_adb *adb, const char *package, int pid)
{
    static const char find[] = "grep -q /libstrobe.so /proc";
    struct strobe_program_result r;
    int status,
        failed = run_shell(adb, &r, &status, "run-as %s %s/%d/maps || %s/%d/maps", package, find, pid, find, pid);
    if (failed || !status)
        return failed;
    return strobe_complain("capture: %s: runs without libstrobe.so: expected System.loadLibrary(\"strobe\") in the app",
                           package);
}

int strobe_adb_restart(const struct strobe_adb *adb, const char *package)
{
    struct strobe_program_result r;
    int status, failed = run_shell(adb, &r, &status, "am force-stop %s", package);
    if (failed)
        return failed;
    failed =
        run_shell(adb, &r, &status, "am start -W -n $(cmd package resolve-activity --brief %s | tail -n 1)", package);
    if (failed || (!status && !strstr(r.output, "Error")))
        return failed;
    return strobe_complain("capture: %s: the device could not start it: %.*s", package, (int)strcspn(r.output, "\r\n"),
                           r.output);
}

int strobe_adb_get_start(const struct strobe_adb *adb, char value[ADB_PROPERTY_BYTES])
{
    struct strobe_program_result r;
    int status, failed = run_shell(adb, &r, &status, "getprop debug.strobe.start");
    if (!failed)
        snprintf(value, ADB_PROPERTY_BYTES, "%.*s", ADB_PROPERTY_BYTES - 1, r.output);
    return failed;
}

int strobe_adb_set_start(const struct strobe_adb *adb, const char *value)
{
    struct strobe_program_result r;
    int status, failed = run_shell(adb, &r, &status, "setprop debug.strobe.start '%s'", value);
    if (failed || !status)
        return failed;
    return strobe_complain("capture: the device refused to set debug.strobe.start: %.200s", r.output);
}

int strobe_adb_shell(const struct strobe_adb *adb, const char *command, int *status, struct strobe_program_result *out)
{
    return run_shell(adb, out, status, "%s", command);
}

/* exec-out changes no byte, as old devices' shell does. It passes no exit status on. */
int strobe_adb_read_file(const struct strobe_adb *adb, const char *file, const struct strobe_program_sink *sink)
{
    struct strobe_program_result r;
    const char *argv[] = {"adb", "exec-out", "cat", file, NULL};
    const char *of_device[] = {"adb", "-s", adb->serial, "exec-out", "cat", file, NULL};
    strobe_program_run(
        &(struct strobe_program){.argv = adb->serial ? of_device : argv, .sink = sink, .interrupt = adb->interrupt},
        &r);
    return strobe_program_succeeded(&r) ? 0 : complain_of_adb(&r);
}

/* ---- forwarding ---- */

int strobe_adb_forward(const struct strobe_adb *adb, const char *socket, int *port)
{
    struct strobe_program_result r;
    char remote[256];
    snprintf(remote, sizeof remote, "localabstract:%s", socket);
    int failed = run_adb(adb, (const char *const[]){"forward", "tcp:0", remote, NULL}, &r);
    if (!failed)
        *port = atoi(r.output);
    return failed;
}

void strobe_adb_unforward(const struct strobe_adb *adb, int port)
{
    struct strobe_program_result r;
    char local[32];
    snprintf(local, sizeof local, "tcp:%d", port);
    try_adb(adb, (const char *const[]){"forward", "--remove", local, NULL}, &r);
}
