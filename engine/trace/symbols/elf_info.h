/* Facts about a program's file: its kind, whether the engine can be preloaded into it, and whether its code keeps frame
 * pointers. `strobe record` uses them before it runs anything, to refuse programs that it cannot record.
 * `strobe doctor` explains them.
 *
 * Reading half: allocates, uses libelf and libdw. Any thread; holds no state. */
#ifndef STROBE_TRACE_SYMBOLS_ELF_INFO_H
#define STROBE_TRACE_SYMBOLS_ELF_INFO_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum strobe_elf_kind {
    STROBE_ELF_DYNAMIC = 0,   /* program of this machine with a dynamic loader: can be preloaded */
    STROBE_ELF_STATIC,        /* program of this machine without a dynamic loader */
    STROBE_ELF_NOT_A_PROGRAM, /* ELF of this machine, but not a program: object, core file, shared library */
    STROBE_ELF_OTHER_MACHINE, /* ELF of another machine or word size */
    STROBE_ELF_BROKEN,        /* starts as ELF, but its headers are inconsistent */
    STROBE_ELF_SCRIPT,        /* "#!" text: interpreter and interpreter_arg are set */
    STROBE_ELF_TEXT,          /* neither ELF nor "#!" */
    STROBE_ELF_EMPTY,
    STROBE_ELF_NOT_FOUND,
    STROBE_ELF_NOT_EXECUTABLE, /* a file that this user may not execute */
    STROBE_ELF_DIRECTORY,
    STROBE_ELF_NOT_A_FILE, /* device, pipe, socket */
    STROBE_ELF_UNREADABLE, /* a file that this user may execute, but not read */
};

enum {
    STROBE_ELF_SET_UID = 1,      /* set-user-id: the loader ignores preloads if this changes the user */
    STROBE_ELF_SET_GID = 2,      /* set-group-id: the same if this changes the group */
    STROBE_ELF_CAPABILITIES = 4, /* file capabilities: the loader ignores preloads */
    STROBE_ELF_SYMTAB = 8,
    STROBE_ELF_DYNSYM = 16,
    STROBE_ELF_MINI_DEBUG = 32, /* .gnu_debugdata: a compressed symbol table */
    STROBE_ELF_DEBUG = 64,      /* .debug_info, in the file itself */
    STROBE_ELF_EH_FRAME = 128,
    STROBE_ELF_INSTRUMENTED = 256,      /* built with -finstrument-functions: its functions report their calls */
    STROBE_ELF_ASAN = 512,              /* built with AddressSanitizer */
    STROBE_ELF_TSAN = 1024,             /* built with ThreadSanitizer */
    STROBE_ELF_SANITIZER_SHARED = 2048, /* the runtime of either is a shared library */
};

enum { STROBE_ELF_PATH_BYTES = 4096, STROBE_ELF_BUILD_ID_BYTES = 20 };

struct strobe_elf_info {
    enum strobe_elf_kind kind;
    unsigned flags; /* STROBE_ELF_*; 0 unless an ELF file */
    /* Both 0 before strobe_elf_count_frames. */
    uint32_t functions;         /* call frame entries counted (those of very short functions are not) */
    uint32_t functions_with_fp; /* of these, functions that set up a frame pointer */
    uint32_t machine;           /* e_machine of an ELF file, else 0 */
    uint32_t build_id_bytes;    /* 0 = it has none */
    uint8_t build_id[STROBE_ELF_BUILD_ID_BYTES];
    char interpreter[STROBE_ELF_PATH_BYTES]; /* of a script: the file that "#!" names; of a dynamic program: its loader
                                              */
    char interpreter_arg[256];               /* of a script: the one argument after it, or "" */
};

/* Reads the facts of the file `path` (no search along PATH). Returns STROBE_OK whenever *out describes the path, also
 * for NOT_FOUND. STROBE_IO (errno): the system failed in another way. */
enum strobe_status strobe_elf_info(const char *path, struct strobe_elf_info *out);

/* Counts info->functions and info->functions_with_fp in the file `path`. strobe_elf_info must have filled *info. The
 * function reads and sorts all call frame information, which takes 1.5 ms for python3; a recording does not need it. */
void strobe_elf_count_frames(const char *path, struct strobe_elf_info *info);

/* Finds the file that execvp(3) would run for `name`: `name` itself if it contains a slash, else the first executable
 * file along PATH. STROBE_NO_ENTRY: there is none; out then holds `name`. */
enum strobe_status strobe_elf_find(const char *name, char *out, size_t out_bytes);

/* Returns the share of functions that set up a frame pointer, 0..1; -1 if no function was counted. */
double strobe_elf_fp_share(const struct strobe_elf_info *info);

/* Returns a lower-case phrase for a kind, as in "it is ...". Never NULL. */
const char *strobe_elf_kind_text(enum strobe_elf_kind kind);

#endif
