/* Loads the library into an app: System.loadLibrary("strobe"). A capture then begins when one of these asks for it; the
 * first that exists counts:
 *
 *   STROBE_SESSION       environment: the path of a session that another program has created
 *   STROBE_START         environment: options of a new session (start_text.h)
 *   debug.strobe.start   system property: a process name, then options. It counts in the process of that name only
 *   strobe.start         a file with options, in the folder `files` of the app's data
 *
 * Without path=, the session is NAME.strobe in that folder, where NAME is the process's name, and replaces the last
 * one. */
#include "engine/backend/art/app.h"
#include "engine/backend/common/embed/start_text.h"
#include "engine/backend/linux/host_linux.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

STROBE_ART_API int32_t JNI_OnLoad(void *vm, void *reserved);

enum {
    LOG_WARN = 5, /* ANDROID_LOG_WARN */
    TEXT_BYTES = 1024,
    NAME_BYTES = 256,
    PROPERTY_BYTES = 92, /* most bytes of a system property, NUL included */
};

/* Writes one line to Android's log, or to standard error if there is no log. */
static void print_line(const char *text)
{
    int (*print)(int, const char *, const char *, ...);
    *(void **)&print = dlsym(RTLD_DEFAULT, "__android_log_print");
    if (print) {
        print(LOG_WARN, "strobe", "%s", text);
        return;
    }
    char line[640];
    int n = snprintf(line, sizeof line, "strobe: %s\n", text);
    (void)!write(2, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

static bool read_hooking(enum strobe_art_hooking *out)
{
    static const char *const words[] = {[STROBE_ART_HOOKING_ANY] = "any",
                                        [STROBE_ART_HOOKING_SHADOWHOOK] = "shadowhook",
                                        [STROBE_ART_HOOKING_DETOURS] = "detours",
                                        [STROBE_ART_HOOKING_NONE] = "none"};
    const char *word = getenv("STROBE_ART_HOOKING");
    *out = STROBE_ART_HOOKING_ANY;
    for (int i = 0; word && i < (int)(sizeof words / sizeof words[0]); i++)
        if (!strcmp(word, words[i])) {
            *out = (enum strobe_art_hooking)i;
            return true;
        }
    return !word;
}

static void print_features(const struct strobe_art_status *s)
{
    struct strobe_error line;
    for (int use = STROBE_ART_SUSPEND; use < STROBE_ART_USES; use++)
        if (s->off[use][0] && strcmp(s->off[use], "not asked for") != 0) {
            strobe_error_set(&line, "no %s: %s", strobe_art_use_name((enum strobe_art_use)use), s->off[use]);
            print_line(line.text);
        }
    if (s->stops)
        print_line("start and end of allocations stop all threads");
    if (!strncmp(s->hooker, "none", 4)) {
        strobe_error_set(&line, "inline hooks: %s", s->hooker);
        print_line(line.text);
    }
}

/* ---- what asks for a capture ---- */

/* The name of an app's process is its package's name, or "PACKAGE:NAME". */
static void read_process_name(char name[NAME_BYTES])
{
    strobe_linux_command(name, NAME_BYTES);
    char *blank = strchr(name, ' ');
    if (blank)
        *blank = '\0';
}

/* Stores the path of a file in the folder `files` of the app's data. STROBE_DATA names another place for the data of
 * all apps, for tests. */
static void data_path(char out[STROBE_START_PATH_BYTES], const char *process, const char *file)
{
    const char *data = getenv("STROBE_DATA"), *colon = strchr(process, ':');
    int package = (int)(colon ? colon - process : (ptrdiff_t)strlen(process));
    snprintf(out, STROBE_START_PATH_BYTES, "%s/%.*s/files/%s", data ? data : "/data/data", package, process, file);
}

/* Returns the options behind the process's name in the property; NULL: the property asks for no capture here. */
static const char *read_property(const char *process, char text[TEXT_BYTES])
{
    int (*get)(const char *, char *);
    *(void **)&get = dlsym(RTLD_DEFAULT, "__system_property_get");
    _Static_assert(TEXT_BYTES >= PROPERTY_BYTES, "a property fits");
    size_t n = strlen(process);
    if (!get || get("debug.strobe.start", text) <= 0 || !n || strncmp(text, process, n) != 0)
        return NULL;
    return text[n] == ' ' || !text[n] ? text + n : NULL;
}

/* Returns the file's text, or NULL: there is no file, or it is too long, and `error` says so. */
static const char *read_start_file(const char *process, char text[TEXT_BYTES], struct strobe_error *error)
{
    char path[STROBE_START_PATH_BYTES];
    data_path(path, process, "strobe.start");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, text, TEXT_BYTES);
    close(fd);
    if (n == TEXT_BYTES) {
        strobe_error_set(error, "%s: expected a file of at most %d bytes", path, TEXT_BYTES - 1);
        return NULL;
    }
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static const char *find_start_text(const char *process, char text[TEXT_BYTES], const char **source,
                                   struct strobe_error *error)
{
    const char *found = getenv("STROBE_START");
    *source = "STROBE_START";
    if (!found) {
        found = read_property(process, text);
        *source = "debug.strobe.start";
    }
    if (!found) {
        found = read_start_file(process, text, error);
        *source = "strobe.start";
    }
    return found;
}

/* Begins the capture that the text asks for. The text names no session: a default in the app's data. */
static enum strobe_status start_as_text_says(void *vm, struct strobe_art_options *options,
                                             struct strobe_art_status *status, struct strobe_error *error)
{
    char process[NAME_BYTES], text[TEXT_BYTES], file[NAME_BYTES + sizeof ".strobe"];
    struct strobe_start_texts texts;
    struct strobe_capture_options create = {0};
    const char *source;
    read_process_name(process);
    const char *found = find_start_text(process, text, &source, error);
    if (!found)
        return strobe_error_is_set(error) ? STROBE_BAD_INPUT : STROBE_NO_ENTRY;
    enum strobe_status result = strobe_read_start_text(found, (uint32_t)getpid(), &texts, &create, error);
    if (result != STROBE_OK) {
        struct strobe_error why = *error;
        strobe_error_join(error, source, why.text);
        return result;
    }
    if (!create.session_path) {
        snprintf(file, sizeof file, "%s.strobe", process);
        data_path(texts.path, process, file);
        create.session_path = texts.path;
        create.replace = 1;
    }
    options->create = &create;
    return strobe_art_start(vm, options, status, error);
}

/* The library is loaded even if the capture cannot start. */
int32_t JNI_OnLoad(void *vm, void *reserved)
{
    struct strobe_art_options options = {.session_path = getenv("STROBE_SESSION")};
    struct strobe_art_status features;
    struct strobe_error error = {""};
    (void)reserved;
    strobe_app_remember_vm(vm);
    strobe_app_bind_class(strobe_jvm_env(vm));
    bool hooking_known = read_hooking(&options.hooking);
    enum strobe_status status = options.session_path ? strobe_art_start(vm, &options, &features, &error)
                                                     : start_as_text_says(vm, &options, &features, &error);
    if (!hooking_known)
        print_line("STROBE_ART_HOOKING is none of any, shadowhook, detours, none");
    if (status == STROBE_OK)
        print_features(&features);
    else if (strobe_error_is_set(&error))
        print_line(error.text);
    return STROBE_JNI_VERSION;
}
