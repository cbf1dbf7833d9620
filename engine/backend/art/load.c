/* Loads the library into an app: System.loadLibrary("strobe"), with STROBE_SESSION in its environment. */
#include "engine/backend/art/art.h"
#include "engine/backend/art/jni.h"
#include "engine/base/error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

STROBE_ART_API int32_t JNI_OnLoad(void *vm, void *reserved);

enum { LOG_WARN = 5 }; /* ANDROID_LOG_WARN */

/* Writes one line to Android's log, or to standard error if there is no log. */
static void print_start_error(const char *text)
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

/* The library is loaded even if the capture cannot start. */
int32_t JNI_OnLoad(void *vm, void *reserved)
{
    const char *path = getenv("STROBE_SESSION");
    struct strobe_error error;
    (void)reserved;
    if (path && strobe_art_start(vm, &(struct strobe_art_options){.session_path = path}, NULL, &error) != STROBE_OK)
        print_start_error(error.text);
    return STROBE_JNI_VERSION;
}
