#include "engine/cmd/preload.h"

#include "engine/backend/linux/preload/environment.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool strobe_library_find(const char *name, char *out, size_t out_bytes)
{
    /* The last place is for programs that are in ../libexec/strobe themselves. */
    static const char *const places[] = {"%s/%s", "%s/../lib/strobe/%s", "%s/../libexec/strobe/%s",
                                         "%s/../../lib/strobe/%s"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    const char *folder = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, places[i], folder, name);
        char *whole = realpath(path, NULL);
        if (whole) {
            snprintf(out, out_bytes, "%s", whole);
            free(whole);
            return true;
        }
    }
    return false;
}

static const char splits_names[] = " :\t\n"; /* characters at which LD_PRELOAD is split */

const char *strobe_plain_folder(void)
{
    const char *folder = getenv("TMPDIR");
    bool fits = folder && *folder && !strpbrk(folder, splits_names) && strlen(folder) < STROBE_PLAIN_BYTES - 32;
    return fits ? folder : "/tmp";
}

bool strobe_preload_give_name(struct strobe_plain_name *p, char *library, size_t library_bytes)
{
    p->folder[0] = '\0';
    if (!strpbrk(library, splits_names))
        return true;
    snprintf(p->folder, sizeof p->folder, "%s/strobe-XXXXXX", strobe_plain_folder());
    if (!mkdtemp(p->folder)) {
        p->folder[0] = '\0';
        return false;
    }
    snprintf(p->link, sizeof p->link, "%s/libstrobe-preload.so", p->folder);
    bool linked = symlink(library, p->link) == 0;
    snprintf(library, library_bytes, "%s", p->link);
    return linked;
}

void strobe_preload_drop_name(const struct strobe_plain_name *p)
{
    if (p->folder[0]) {
        unlink(p->link);
        rmdir(p->folder);
    }
}

/* Inserts `first` before the variable's value. */
static bool prepend_to_variable(const char *name, const char *first)
{
    const char *rest = getenv(name);
    char *value = NULL;
    if (asprintf(&value, "%s%s%s", first, rest && *rest ? ":" : "", rest ? rest : "") < 0)
        return false;
    bool set = setenv(name, value, 1) == 0;
    free(value);
    return set;
}

/* Without a value, the variable is removed. */
static bool set_or_remove(const char *name, const char *value)
{
    return (value && *value ? setenv(name, value, 1) : unsetenv(name)) == 0;
}

bool strobe_preload_set(const char *library, const char *session, const char *only, const char *control)
{
    return set_or_remove("STROBE_ONLY", only) && set_or_remove("STROBE_CONTROL", control) &&
           prepend_to_variable("LD_PRELOAD", library) && prepend_to_variable("ASAN_OPTIONS", STROBE_ASAN_OPTION) &&
           setenv("STROBE_SESSION", session, 1) == 0;
}
