#include "engine/trace/symbols/elf_info.h"

#include "engine/trace/symbols/call_frames.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MY_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MY_MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { MY_MACHINE = EM_RISCV };
#elif defined(__arm__)
enum { MY_MACHINE = EM_ARM };
#else
enum { MY_MACHINE = EM_NONE };
#endif

/* Shorter functions are stubs, getters and hand-written code. They do not show how a program was compiled. */
enum { TINY_BYTES = 24, HEAD_BYTES = 4096 };

static void copy_text(char *to, size_t to_bytes, const char *from, size_t from_bytes)
{
    size_t n = from_bytes < to_bytes ? from_bytes : to_bytes - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

/* Reads "#!interpreter [one argument]", as execve(2) does. */
static void read_script(const char *head, size_t bytes, struct strobe_elf_info *out)
{
    const char *p = head + 2, *end = memchr(head, '\n', bytes);
    if (!end)
        end = head + bytes;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    const char *name = p;
    while (p < end && *p != ' ' && *p != '\t' && *p != '\r')
        p++;
    copy_text(out->interpreter, sizeof out->interpreter, name, (size_t)(p - name));
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    copy_text(out->interpreter_arg, sizeof out->interpreter_arg, p, (size_t)(end - p));
    out->kind = out->interpreter[0] ? STROBE_ELF_SCRIPT : STROBE_ELF_TEXT;
}

/* Returns 1 if a table of names contains the text. */
static int contains_text(const Elf_Data *names, const char *text, size_t bytes)
{
    return memmem(names->d_buf, names->d_size, text, bytes) != NULL;
}

/* Returns flags derived from the names of symbols and, in .dynstr, of needed libraries. The names of a runtime that is
 * linked into the program may be only in .strtab. */
static unsigned flags_of_names(Elf_Scn *section)
{
    static const char hook[] = "__cyg_profile_func_enter", asan[] = "\0__asan_init", tsan[] = "\0__tsan_init";
    static const char *const shared[] = {"libasan.so.", "libtsan.so.", "libclang_rt.asan", "libclang_rt.tsan"};
    const Elf_Data *names = elf_getdata(section, NULL);
    unsigned flags = 0;
    if (!names || !names->d_buf)
        return 0;
    flags |= contains_text(names, hook, sizeof hook) ? STROBE_ELF_INSTRUMENTED : 0;
    flags |= contains_text(names, asan, sizeof asan) ? STROBE_ELF_ASAN : 0;
    flags |= contains_text(names, tsan, sizeof tsan) ? STROBE_ELF_TSAN : 0;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        flags |= contains_text(names, shared[i], strlen(shared[i])) ? STROBE_ELF_SANITIZER_SHARED : 0;
    return flags;
}

static void set_section_flags(Elf *elf, struct strobe_elf_info *out)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        GElf_Shdr head;
        const char *name = gelf_getshdr(s, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
        if (!name || head.sh_type == SHT_NOBITS)
            continue;
        if (head.sh_type == SHT_SYMTAB)
            out->flags |= STROBE_ELF_SYMTAB;
        else if (head.sh_type == SHT_DYNSYM)
            out->flags |= STROBE_ELF_DYNSYM;
        else if (!strcmp(name, ".gnu_debugdata"))
            out->flags |= STROBE_ELF_MINI_DEBUG;
        else if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
            out->flags |= STROBE_ELF_DEBUG;
        else if (!strcmp(name, ".eh_frame"))
            out->flags |= STROBE_ELF_EH_FRAME;
        else if (!strcmp(name, ".dynstr"))
            out->flags |= flags_of_names(s);
        else if (!strcmp(name, ".strtab"))
            out->flags |= flags_of_names(s) & (STROBE_ELF_ASAN | STROBE_ELF_TSAN);
    }
}

static void count_frames(Elf *elf, struct strobe_elf_info *out)
{
    struct strobe_call_frame *frames;
    size_t count;
    strobe_call_frames_read(elf, &frames, &count); /* the readable entries of a damaged section count */
    for (size_t i = 0; i < count; i++) {
        if (frames[i].bytes < TINY_BYTES || frames[i].use == STROBE_FRAME_NONE)
            continue;
        out->functions++;
        out->functions_with_fp += frames[i].use == STROBE_FRAME_POINTER;
    }
    free(frames);
}

/* Reads the loader's path from the program headers. Returns 0 if they are inconsistent. */
static int read_loader(Elf *elf, int fd, struct strobe_elf_info *out)
{
    size_t count;
    if (elf_getphdrnum(elf, &count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p))
            return 0;
        if (p.p_type != PT_INTERP)
            continue;
        size_t bytes = p.p_filesz < sizeof out->interpreter ? p.p_filesz : sizeof out->interpreter;
        if (!bytes || pread(fd, out->interpreter, bytes, (off_t)p.p_offset) != (ssize_t)bytes)
            return 0;
        out->interpreter[bytes - 1] = 0;
    }
    return 1;
}

static void read_elf(Elf *elf, int fd, struct strobe_elf_info *out)
{
    GElf_Ehdr head;
    out->kind = STROBE_ELF_BROKEN;
    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head))
        return;
    out->machine = head.e_machine;
    if (!read_loader(elf, fd, out)) {
        out->interpreter[0] = 0;
        return;
    }
    int my_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    /* A position-independent static program and a shared library differ only in the program's entry point. */
    if (head.e_machine != MY_MACHINE || head.e_ident[EI_CLASS] != my_class)
        out->kind = STROBE_ELF_OTHER_MACHINE;
    else if (head.e_type == ET_EXEC || head.e_type == ET_DYN)
        out->kind = out->interpreter[0] ? STROBE_ELF_DYNAMIC
                    : head.e_entry      ? STROBE_ELF_STATIC
                                        : STROBE_ELF_NOT_A_PROGRAM;
    else
        out->kind = STROBE_ELF_NOT_A_PROGRAM;
    set_section_flags(elf, out);
    const void *id;
    ssize_t id_bytes = dwelf_elf_gnu_build_id(elf, &id);
    if (id_bytes > 0) {
        out->build_id_bytes = id_bytes < STROBE_ELF_BUILD_ID_BYTES ? (uint32_t)id_bytes : STROBE_ELF_BUILD_ID_BYTES;
        memcpy(out->build_id, id, out->build_id_bytes);
    }
}

static void read_elf_content(int fd, const struct stat *st, struct strobe_elf_info *out)
{
    char head[HEAD_BYTES];
    ssize_t got = pread(fd, head, sizeof head, 0);
    if (got < 0) {
        out->kind = STROBE_ELF_UNREADABLE;
    } else if (got == 0) {
        out->kind = STROBE_ELF_EMPTY;
    } else if (got >= 2 && !memcmp(head, "#!", 2)) {
        read_script(head, (size_t)got, out);
    } else if (got < 4 || memcmp(head, ELFMAG, SELFMAG)) {
        out->kind = STROBE_ELF_TEXT;
    } else {
        elf_version(EV_CURRENT);
        Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
        out->kind = STROBE_ELF_BROKEN;
        if (elf)
            read_elf(elf, fd, out);
        elf_end(elf);
    }
    if (out->kind != STROBE_ELF_DYNAMIC && out->kind != STROBE_ELF_STATIC)
        return;
    if (st->st_mode & S_ISUID)
        out->flags |= STROBE_ELF_SET_UID;
    if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
        out->flags |= STROBE_ELF_SET_GID;
    if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
        out->flags |= STROBE_ELF_CAPABILITIES;
}

enum strobe_status strobe_elf_info(const char *path, struct strobe_elf_info *out)
{
    struct stat st;
    memset(out, 0, sizeof *out);
    if (stat(path, &st)) {
        out->kind = STROBE_ELF_NOT_FOUND;
        if (errno == EACCES)
            out->kind = STROBE_ELF_NOT_EXECUTABLE;
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ENAMETOOLONG || errno == ELOOP
                   ? STROBE_OK
                   : STROBE_IO;
    }
    if (S_ISDIR(st.st_mode)) {
        out->kind = STROBE_ELF_DIRECTORY;
        return STROBE_OK;
    }
    if (!S_ISREG(st.st_mode)) {
        out->kind = STROBE_ELF_NOT_A_FILE;
        return STROBE_OK;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno != EACCES && errno != EPERM)
            return STROBE_IO;
        out->kind = access(path, X_OK) ? STROBE_ELF_NOT_EXECUTABLE : STROBE_ELF_UNREADABLE;
        return STROBE_OK;
    }
    read_elf_content(fd, &st, out);
    close(fd);
    if (out->kind != STROBE_ELF_EMPTY && out->kind != STROBE_ELF_NOT_A_PROGRAM && access(path, X_OK))
        out->kind = STROBE_ELF_NOT_EXECUTABLE;
    return STROBE_OK;
}

void strobe_elf_count_frames(const char *path, struct strobe_elf_info *info)
{
    info->functions = info->functions_with_fp = 0;
    int fd = info->flags & STROBE_ELF_EH_FRAME ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf)
        count_frames(elf, info);
    elf_end(elf);
    close(fd);
}

static int is_program(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

enum strobe_status strobe_elf_find(const char *name, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "%s", name);
    if (strchr(name, '/'))
        return access(name, F_OK) ? STROBE_NO_ENTRY : STROBE_OK;
    const char *path = getenv("PATH");
    if (!path)
        path = "/bin:/usr/bin"; /* the default of execvp without PATH, without the current directory */
    while (name[0]) {
        size_t n = strcspn(path, ":");
        int got = n ? snprintf(out, out_bytes, "%.*s/%s", (int)n, path, name) : snprintf(out, out_bytes, "./%s", name);
        if (got > 0 && (size_t)got < out_bytes && is_program(out))
            return STROBE_OK;
        if (!path[n])
            break;
        path += n + 1;
    }
    snprintf(out, out_bytes, "%s", name);
    return STROBE_NO_ENTRY;
}

double strobe_elf_fp_share(const struct strobe_elf_info *info)
{
    return info->functions ? (double)info->functions_with_fp / info->functions : -1;
}

const char *strobe_elf_kind_text(enum strobe_elf_kind kind)
{
    switch (kind) {
    case STROBE_ELF_DYNAMIC: return "a dynamic program";
    case STROBE_ELF_STATIC: return "a static program";
    case STROBE_ELF_NOT_A_PROGRAM: return "an ELF file, but no program";
    case STROBE_ELF_OTHER_MACHINE: return "a program for another machine";
    case STROBE_ELF_BROKEN: return "a damaged ELF file";
    case STROBE_ELF_SCRIPT: return "a script";
    case STROBE_ELF_TEXT: return "neither a program nor a script with #!";
    case STROBE_ELF_EMPTY: return "an empty file";
    case STROBE_ELF_NOT_FOUND: return "not found";
    case STROBE_ELF_NOT_EXECUTABLE: return "not executable";
    case STROBE_ELF_DIRECTORY: return "a directory";
    case STROBE_ELF_NOT_A_FILE: return "no regular file";
    case STROBE_ELF_UNREADABLE: return "not readable";
    }
    return "of unknown kind";
}
