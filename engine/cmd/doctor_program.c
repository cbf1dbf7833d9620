#include "engine/base/error.h"
#include "engine/cmd/doctor.h"

#include "engine/trace/symbols/elf_info.h"
#include "engine/trace/symbols/macho_elf.h"

#include <stdio.h>
#include <string.h>

enum { SCRIPTS_DEEP = 4 }; /* as many as the kernel follows */

/* Follows a script to the program that runs it. Returns 0 when that fails. */
static int follow_scripts(struct strobe_findings *f, char *path, size_t path_bytes, struct strobe_elf_info *info)
{
    for (int deep = 0; info->kind == STROBE_ELF_SCRIPT || info->kind == STROBE_ELF_TEXT; deep++) {
        char next[STROBE_ELF_PATH_BYTES];
        if (deep == SCRIPTS_DEEP) {
            strobe_find(f, STROBE_HEALTH_MISSING, "script", "%s: too many scripts that run each other.", path);
            return 0;
        }
        const char *slash = strrchr(info->interpreter, '/');
        /* "#!/usr/bin/env python3" runs python3, which replaces env. */
        if (info->kind == STROBE_ELF_TEXT) {
            snprintf(next, sizeof next, "/bin/sh"); /* execvp(3) runs files that the kernel refuses with the shell */
        } else if (slash && !strcmp(slash, "/env") && info->interpreter_arg[0] && info->interpreter_arg[0] != '-') {
            char word[256];
            snprintf(word, sizeof word, "%s", info->interpreter_arg);
            word[strcspn(word, " \t")] = 0;
            if (strobe_elf_find(word, next, sizeof next) != STROBE_OK) {
                strobe_find(f, STROBE_HEALTH_MISSING, "script", "%s asks env for %s, which is not there.", path, word);
                return 0;
            }
        } else {
            snprintf(next, sizeof next, "%s", info->interpreter);
        }
        strobe_find(f, STROBE_HEALTH_OK, "script", "A script: its interpreter %s is recorded.", next);
        snprintf(path, path_bytes, "%s", next);
        if (strobe_elf_info(path, info) != STROBE_OK) {
            strobe_find(f, STROBE_HEALTH_MISSING, "program", "%s cannot be read.", path);
            return 0;
        }
    }
    return 1;
}

static void find_preload(struct strobe_findings *f, const struct strobe_elf_info *info)
{
    const char *attribute = info->flags & STROBE_ELF_SET_UID   ? "set-uid"
                            : info->flags & STROBE_ELF_SET_GID ? "set-gid"
                                                               : "file capabilities";
    if (info->kind == STROBE_ELF_STATIC)
        strobe_find(f, STROBE_HEALTH_MISSING, "preload",
                    "Has no dynamic loader, so nothing can be preloaded. Link it dynamically to record it.");
    else if (info->flags & (STROBE_ELF_SET_UID | STROBE_ELF_SET_GID | STROBE_ELF_CAPABILITIES))
        strobe_find(f, STROBE_HEALTH_MISSING, "preload",
                    "Runs with other rights than yours (%s), so the loader ignores preloads. Record a copy without "
                    "that attribute; it runs with your rights.",
                    attribute);
    else
        strobe_find(f, STROBE_HEALTH_OK, "preload", "Loaded by %s: the engine can be preloaded.", info->interpreter);
}

static void find_unwinding(struct strobe_findings *f, const struct strobe_elf_info *info)
{
    double share = 100 * strobe_elf_fp_share(info);
    if (share < 0)
        strobe_find(
            f, STROBE_HEALTH_NOTE, "unwinding",
            "Has no call frame entries (.eh_frame): its stacks are taken by frame pointers, and are whole only if "
            "it was built with -fno-omit-frame-pointer.");
    else
        strobe_find(f, STROBE_HEALTH_OK, "unwinding",
                    "Stacks are taken by its call frame entries (.eh_frame). %.0f %% of %u functions keep a frame "
                    "pointer, which --unwind fp needs.",
                    share, info->functions);
}

static void find_symbols(struct strobe_findings *f, const struct strobe_elf_info *info)
{
    if (info->flags & STROBE_ELF_DEBUG)
        strobe_find(f, STROBE_HEALTH_OK, "symbols", "Debug information: functions, files, lines and inlined calls.");
    else if (info->flags & (STROBE_ELF_SYMTAB | STROBE_ELF_MINI_DEBUG))
        strobe_find(f, STROBE_HEALTH_OK, "symbols", "A symbol table: all functions have names; no lines.");
    else
        strobe_find(f, STROBE_HEALTH_NOTE, "symbols",
                    "Stripped: only exported functions have names, others show as name+0x1234, unless a debug file "
                    "is installed.");
}

static void find_macho_slice(struct strobe_findings *f, const struct strobe_macho *m)
{
    char uuid[2 * STROBE_MACHO_UUID_BYTES + 1] = "";
    for (unsigned i = 0; i < STROBE_MACHO_UUID_BYTES; i++)
        snprintf(uuid + 2 * (size_t)i, 3, "%02X", m->uuid[i]);
    strobe_find(f, m->has_dwarf || m->symbol_count ? STROBE_HEALTH_OK : STROBE_HEALTH_NOTE, "symbols", "%s, %s%s: %s.",
                m->machine == STROBE_MACHO_ARM64 ? "arm64" : "x86_64", m->has_uuid ? "UUID " : "no UUID",
                m->has_uuid ? uuid : "",
                m->has_dwarf      ? "debug information: functions, files, lines and inlined calls"
                : m->symbol_count ? "a symbol table, no lines"
                                  : "stripped");
}

/* Reports a Mach-O file and its symbols. Returns 0 when the file is not a Mach-O file. */
static int find_macho(struct strobe_findings *f, const char *path)
{
    static struct strobe_macho m;
    struct strobe_macho_slice slices[STROBE_MACHO_SLICES_MAX];
    struct strobe_macho_file file;
    uint32_t count;
    struct strobe_error error;
    if (strobe_macho_map(path, &file) != STROBE_OK)
        return 0;
    enum strobe_status status = strobe_macho_slices(file.at, file.bytes, slices, &count, &error);
    if (status == STROBE_OK)
        strobe_find(f, STROBE_HEALTH_MISSING, "program",
                    "%s is a Mach-O file: it must be recorded on its own system. strobe symbolize --dsym reads it.",
                    path);
    for (uint32_t i = 0; i < count && status == STROBE_OK; i++) {
        status = strobe_macho_read(file.at, &slices[i], &m, &error);
        if (status == STROBE_OK)
            find_macho_slice(f, &m);
    }
    if (status != STROBE_OK && status != STROBE_NO_ENTRY)
        strobe_find(f, STROBE_HEALTH_MISSING, "symbols", "%s: %s.", path, error.text);
    strobe_macho_unmap(&file);
    return status != STROBE_NO_ENTRY;
}

static void find_sanitizer(struct strobe_findings *f, const struct strobe_elf_info *info)
{
    const char *how = info->flags & STROBE_ELF_SANITIZER_SHARED ? "a shared runtime" : "a static runtime";
    if (info->flags & STROBE_ELF_TSAN && !(info->flags & STROBE_ELF_SANITIZER_SHARED))
        strobe_find(f, STROBE_HEALTH_MISSING, "sanitizer",
                    "ThreadSanitizer with a static runtime, which does not know threads that a preloaded library "
                    "starts: not recorded. Link it without -static-libtsan, by gcc.");
    else if (info->flags & (STROBE_ELF_ASAN | STROBE_ELF_TSAN))
        strobe_find(f, STROBE_HEALTH_OK, "sanitizer", "%s with %s: recorded. Its reports show the engine's functions.",
                    info->flags & STROBE_ELF_TSAN ? "ThreadSanitizer" : "AddressSanitizer", how);
}

void strobe_find_program(struct strobe_findings *f, const char *name)
{
    char path[STROBE_ELF_PATH_BYTES];
    struct strobe_elf_info info;
    if (strobe_elf_find(name, path, sizeof path) != STROBE_OK) {
        strobe_find(f, STROBE_HEALTH_MISSING, "program", "%s: not found%s.", name,
                    strchr(name, '/') ? "" : " along PATH");
        return;
    }
    if (strobe_elf_info(path, &info) != STROBE_OK) {
        strobe_find(f, STROBE_HEALTH_MISSING, "program", "%s cannot be read.", path);
        return;
    }
    if (find_macho(f, path) || !follow_scripts(f, path, sizeof path, &info))
        return;
    int runs = info.kind == STROBE_ELF_DYNAMIC || info.kind == STROBE_ELF_STATIC;
    strobe_find(f, runs ? STROBE_HEALTH_OK : STROBE_HEALTH_MISSING, "program", "%s is %s.", path,
                strobe_elf_kind_text(info.kind));
    if (!runs)
        return;
    find_preload(f, &info);
    find_sanitizer(f, &info);
    strobe_elf_count_frames(path, &info);
    find_unwinding(f, &info);
    find_symbols(f, &info);
    if (info.flags & STROBE_ELF_INSTRUMENTED)
        strobe_find(f, STROBE_HEALTH_OK, "calls",
                    "Its functions report each call: strobe record --method records them.");
}
