#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"
#include "engine/trace/symbols/elf_info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { INTERPRETERS_MAX = 4 }; /* about as many as the kernel follows */

static int refuse_program(const char *path, const struct strobe_elf_info *info)
{
    switch (info->kind) {
    case STROBE_ELF_NOT_FOUND: return strobe_complain("%s: no such program", path);
    case STROBE_ELF_STATIC:
        return strobe_complain("%s: statically linked: the engine cannot be preloaded into it", path);
    case STROBE_ELF_EMPTY: return strobe_complain("%s: an empty file, expected a program", path);
    default:
        return strobe_complain("%s: it is %s, expected a program of this machine", path,
                               strobe_elf_kind_text(info->kind));
    }
}

/* Replaces `path` by the program that `#!/usr/bin/env NAME` runs, when it is such a line. */
static void look_through_env(char *path, size_t path_bytes, const char *argument)
{
    const char *base = strrchr(path, '/');
    char found[PATH_MAX];
    if (base && !strcmp(base, "/env") && *argument && *argument != '-' && !strchr(argument, '=') &&
        strobe_elf_find(argument, found, sizeof found) == STROBE_OK)
        snprintf(path, path_bytes, "%s", found);
}

int strobe_record_find_program(const char *command, char *path, size_t path_bytes)
{
    struct strobe_elf_info info;
    char at[STROBE_ELF_PATH_BYTES];
    if (strobe_elf_find(command, path, path_bytes) != STROBE_OK) {
        if (strchr(command, '/') == NULL)
            return strobe_complain("%s: no such program in PATH", command);
    }
    snprintf(at, sizeof at, "%s", path);
    for (int depth = 0; depth <= INTERPRETERS_MAX; depth++) {
        if (strobe_elf_info(at, &info) != STROBE_OK)
            return strobe_complain("%s: %s", at, strerror(errno));
        if (info.flags & (STROBE_ELF_SET_UID | STROBE_ELF_SET_GID | STROBE_ELF_CAPABILITIES))
            return strobe_complain("%s: %s: the system does not allow preloading into it", at,
                                   info.flags & STROBE_ELF_SET_UID   ? "set-uid"
                                   : info.flags & STROBE_ELF_SET_GID ? "set-gid"
                                                                     : "has file capabilities");
        if (info.kind == STROBE_ELF_DYNAMIC && info.flags & STROBE_ELF_TSAN &&
            !(info.flags & STROBE_ELF_SANITIZER_SHARED))
            return strobe_complain(
                "%s: its ThreadSanitizer runtime is linked statically, and does not know threads that "
                "a preloaded library starts: link it without -static-libtsan, by gcc",
                at);
        if (info.kind == STROBE_ELF_DYNAMIC || info.kind == STROBE_ELF_UNREADABLE)
            return 0;
        if (info.kind == STROBE_ELF_SCRIPT) {
            snprintf(at, sizeof at, "%s", info.interpreter);
            look_through_env(at, sizeof at, info.interpreter_arg);
        } else if (info.kind == STROBE_ELF_TEXT) {
            snprintf(at, sizeof at, "/bin/sh"); /* execvp(3) does the same */
        } else {
            return refuse_program(at, &info);
        }
    }
    return strobe_complain("%s: interpreters of interpreters, more than %d deep", path, INTERPRETERS_MAX);
}
