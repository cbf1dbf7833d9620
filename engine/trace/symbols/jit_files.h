/* Finds, checks and reads the files in which a process lists the machine code that it generates. Part of jit_names.h;
 * reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_JIT_FILES_H
#define STROBE_TRACE_SYMBOLS_JIT_FILES_H

#include "engine/store/session.h"
#include "engine/trace/symbols/code_list.h"
#include "engine/trace/symbols/jit_names.h"

enum { STROBE_JIT_FILES_MAX = 16 };

struct strobe_jit_file {
    char path[4096];
    char *content;
    struct strobe_code_list codes;
    int is_jitdump, counts_ticks;
};

struct strobe_jit_files {
    struct strobe_jit_file *list[STROBE_JIT_FILES_MAX];
    size_t count;
};

/* Reads the files of the session's process from the places that strobe_jit_names_keep lists; see there for `folder`. If
 * an existing file is not read, result->unused has the reason. STROBE_IO: out of memory. */
enum strobe_status strobe_jit_files_find(const struct strobe_session *session, const char *folder,
                                         struct strobe_jit_files *out, struct strobe_jit_names *result);

/* Reads the file `path` without these checks. STROBE_IO with errno, STROBE_BAD_INPUT: a damaged jitdump file. */
enum strobe_status strobe_jit_files_read(const char *path, struct strobe_jit_files *out,
                                         struct strobe_jit_names *result);

void strobe_jit_files_close(struct strobe_jit_files *files);

#endif
