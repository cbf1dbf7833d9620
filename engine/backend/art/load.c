/* Loads the library into an app: System.loadLibrary("strobe"), with STROBE_SESSION in its environment. */
#include "engine/backend/art/art.h"
#include "engine/backend/art/jni.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

STROBE_ART_API int32_t JNI_OnLoad(void *vm, void *reserved);

enum { LOG_WARN = 5 }; /* ANDROID_LOG_WARN */

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

/* The library is loaded even if the capture cannot start. */
int32_t JNI_OnLoad(void *vm, void *reserved)
{
    struct strobe_art_options options = {.session_path = getenv("STROBE_SESSION")};
    struct strobe_art_status status;
    struct strobe_error error;
    (void)reserved;
    if (!options.session_path)
        return STROBE_JNI_VERSION;
    if (!read_hooking(&options.hooking))
        print_line("STROBE_ART_HOOKING is none of any, shadowhook, detours, none");
    if (strobe_art_start(vm, &options, &status, &error) == STROBE_OK)
        print_features(&status);
    else
        print_line(error.text);
    return STROBE_JNI_VERSION;
}
