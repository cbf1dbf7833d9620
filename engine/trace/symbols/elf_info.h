/* Facts about a program's file: what it is, whether the engine can be preloaded into it, and whether its code keeps
 * frame pointers. Used before anything is run, so that `strobe record` refuses what cannot work, and
 * `strobe doctor` explains.
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
    STROBE_ELF_NOT_A_PROGRAM, /* ELF of this machine, but no program: object, core file, shared library */
    STROBE_ELF_OTHER_MACHINE, /* ELF of another machine or word size */
    STROBE_ELF_BROKEN,        /* starts as ELF, but its headers do not hold together */
    STROBE_ELF_SCRIPT,        /* "#!" text: interpreter and argument are given */
    STROBE_ELF_TEXT,          /* neither ELF nor "#!" */
    STROBE_ELF_EMPTY,
    STROBE_ELF_NOT_FOUND,
    STROBE_ELF_NOT_EXECUTABLE, /* a file this user may not execute */
    STROBE_ELF_DIRECTORY,
    STROBE_ELF_NOT_A_FILE, /* device, pipe, socket */
    STROBE_ELF_UNREADABLE, /* may be executed, but not read, by this user */
};

enum {
    STROBE_ELF_SET_UID = 1,      /* the loader ignores preloads when this changes the user ... */
    STROBE_ELF_SET_GID = 2,      /* ... or the group */
    STROBE_ELF_CAPABILITIES = 4, /* file capabilities: the same */
    STROBE_ELF_SYMTAB = 8,
    STROBE_ELF_DYNSYM = 16,
    STROBE_ELF_MINI_DEBUG = 32, /* .gnu_debugdata: a compressed symbol table */
    STROBE_ELF_DEBUG = 64,      /* .debug_info, in the file itself */
    STROBE_ELF_EH_FRAME = 128,
    STROBE_ELF_INSTRUMENTED = 256,      /* its functions report their calls: built with -finstrument-functions */
    STROBE_ELF_ASAN = 512,              /* built with AddressSanitizer */
    STROBE_ELF_TSAN = 1024,             /* built with ThreadSanitizer */
    STROBE_ELF_SANITIZER_SHARED = 2048, /* the runtime of either is a shared library */
};

enum { STROBE_ELF_PATH_BYTES = 4096, STROBE_ELF_BUILD_ID_BYTES = 20 };

struct strobe_elf_info {
    enum strobe_elf_kind kind;
    unsigned flags; /* STROBE_ELF_*; 0 unless an ELF file */
    /* Both 0 before strobe_elf_count_frames. */
    uint32_t functions;         /* call frame entries looked at (those of tiny functions are not) */
    uint32_t functions_with_fp; /* of these, how many set up a frame pointer */
    uint32_t machine;           /* e_machine of an ELF file, else 0 */
    uint32_t build_id_bytes;    /* 0 when it has none */
    uint8_t build_id[STROBE_ELF_BUILD_ID_BYTES];
    char interpreter[STROBE_ELF_PATH_BYTES]; /* of a script: what "#!" names; of a dynamic program: its loader */
    char interpreter_arg[256];               /* of a script: the one argument after it, or "" */
};

/* Looks at the file `path` (no search along PATH). STROBE_OK whenever *out says what is there, whatever that is, also
 * NOT_FOUND; STROBE_IO (errno) only when the system failed in another way. */
enum strobe_status strobe_elf_info(const char *path, struct strobe_elf_info *out);

/* Counts info->functions and info->functions_with_fp in the file `path`, of which strobe_elf_info has told *info. It
 * reads and sorts all call frame information, some 1.5 ms for python3, which is why a recording leaves it out. */
void strobe_elf_count_frames(const char *path, struct strobe_elf_info *info);

/* Finds what execvp(3) would run for `name`: `name` itself when it has a slash, else the first executable file along
 * PATH. STROBE_NO_ENTRY when there is none; out then holds `name`. */
enum strobe_status strobe_elf_find(const char *name, char *out, size_t out_bytes);

/* Share of functions that set up a frame pointer, 0..1; -1 when none could be looked at. */
double strobe_elf_fp_share(const struct strobe_elf_info *info);

/* One lower-case phrase for a kind, as in "it is ...": never NULL. */
const char *strobe_elf_kind_text(enum strobe_elf_kind kind);

#endif
