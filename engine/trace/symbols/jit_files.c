#include "engine/trace/symbols/jit_files.h"

#include "engine/trace/symbols/jitdump.h"
#include "engine/trace/symbols/perf_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((off_t)1 << 31)
#define CLOCK_SLACK_NS 20000000u /* the kernel's clock for file times advances only once per tick */

/* The conditions for reading a file; pid 0 = no conditions. */
struct requirements {
    uint32_t pid;
    uid_t owner;
    uint64_t begin_ns;
};

static void set_unused(struct strobe_jit_names *result, const char *path, const char *why)
{
    if (!result->unused[0])
        snprintf(result->unused, sizeof result->unused, "%.480s: %s", path, why);
}

/* Returns the reason for not reading the file, or NULL. */
static const char *find_fault(const struct stat *st, const struct requirements *d)
{
    if (!S_ISREG(st->st_mode))
        return "is no regular file";
    if (st->st_size > FILE_BYTES_MAX)
        return "is larger than 2 GB";
    if (!d->pid)
        return NULL;
    if (st->st_uid != d->owner)
        return "belongs to another user";
    uint64_t written_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
    return written_ns + CLOCK_SLACK_NS < d->begin_ns ? "is older than the recording" : NULL;
}

/* Reads the file into memory. It is not mapped, because a process that still writes it could truncate it. */
static char *read_whole_file(int fd, size_t bytes, size_t *read_bytes)
{
    char *content = malloc(bytes + 1);
    *read_bytes = 0;
    while (content && *read_bytes < bytes) {
        ssize_t n = read(fd, content + *read_bytes, bytes - *read_bytes);
        if (n > 0)
            *read_bytes += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    return content;
}

static void add_bad_lines(const struct strobe_jit_file *f, struct strobe_jit_names *result)
{
    if (f->codes.bad && !result->bad)
        snprintf(result->first_bad, sizeof result->first_bad,
                 f->is_jitdump ? "%.400s: byte %" PRIu64 : "%.400s:%" PRIu64, f->path, f->codes.first_bad);
    result->bad += f->codes.bad;
}

static enum strobe_status parse_file(struct strobe_jit_file *f, size_t bytes, const struct requirements *d,
                                     struct strobe_jit_names *result)
{
    static const char magic[4] = "DTiJ";
    struct strobe_jitdump head;
    f->is_jitdump = bytes >= sizeof magic &&
                    (!memcmp(f->content, magic, sizeof magic) || !memcmp(f->content, "JiTD", sizeof magic));
    if (!f->is_jitdump)
        return strobe_perf_map_read(f->content, bytes, &f->codes);
    enum strobe_status status = strobe_jitdump_read(f->content, bytes, &head, &f->codes);
    f->counts_ticks = head.counts_ticks;
    if (status == STROBE_BAD_INPUT)
        set_unused(result, f->path, "expected a jitdump file of version 1 in this machine's byte order");
    else if (status == STROBE_OK && d->pid && head.pid != d->pid)
        set_unused(result, f->path, "is of another process");
    else
        return status;
    return STROBE_BAD_INPUT;
}

static void free_file(struct strobe_jit_file *f)
{
    strobe_code_list_free(&f->codes);
    free(f->content);
    free(f);
}

static enum strobe_status read_open_file(int fd, const char *path, const struct requirements *d,
                                         struct strobe_jit_files *out, struct strobe_jit_names *result)
{
    struct stat st;
    size_t bytes;
    if (fstat(fd, &st) != 0)
        return STROBE_IO;
    const char *fault = find_fault(&st, d);
    if (fault) {
        set_unused(result, path, fault);
        return STROBE_BAD_INPUT;
    }
    struct strobe_jit_file *f = calloc(1, sizeof *f);
    if (!f || !(f->content = read_whole_file(fd, (size_t)st.st_size, &bytes))) {
        free(f);
        errno = ENOMEM;
        return STROBE_IO;
    }
    snprintf(f->path, sizeof f->path, "%s", path);
    enum strobe_status status = parse_file(f, bytes, d, result);
    if (status != STROBE_OK) {
        free_file(f);
        return status;
    }
    add_bad_lines(f, result);
    result->files++;
    out->list[out->count++] = f;
    return STROBE_OK;
}

static enum strobe_status read_file(const char *path, const struct requirements *d, struct strobe_jit_files *out,
                                    struct strobe_jit_names *result)
{
    if (out->count == STROBE_JIT_FILES_MAX)
        return STROBE_FULL;
    /* A link in /tmp may belong to another user, who controls where it leads. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (d->pid ? O_NOFOLLOW : 0));
    if (fd < 0 && errno == ENOENT)
        return STROBE_NO_ENTRY;
    if (fd < 0) {
        set_unused(result, path, errno == ELOOP ? "is a link" : strerror(errno));
        return STROBE_IO;
    }
    enum strobe_status status = read_open_file(fd, path, d, out, result);
    int error = errno;
    close(fd);
    errno = error;
    return status;
}

enum strobe_status strobe_jit_files_read(const char *path, struct strobe_jit_files *out,
                                         struct strobe_jit_names *result)
{
    struct requirements anything = {0};
    enum strobe_status status = read_file(path, &anything, out, result);
    if (status == STROBE_NO_ENTRY)
        set_unused(result, path, strerror(ENOENT));
    return status == STROBE_NO_ENTRY ? STROBE_IO : status;
}

/* ---- places ---- */

/* Returns the path of the jitdump file that the process mapped, from the session's table of images; "" = none. */
static void mapped_jitdump(const struct strobe_session *s, const char *name, char *out, size_t out_bytes)
{
    out[0] = '\0';
    for (uint32_t i = strobe_session_image_count(s); i-- > 0 && !out[0];) {
        const struct strobe_image_entry *e = &s->images[i];
        const char *slash = strobe_load_acquire(&e->published) == 1 ? strrchr(e->path, '/') : NULL;
        if (slash && !strcmp(slash + 1, name))
            snprintf(out, out_bytes, "%s", e->path);
    }
}

/* Java's libperf-jvmti.so and LLVM make a directory for each process under BASE/.debug/jit. */
static enum strobe_status search_debug_folders(const char *base, const char *name, const struct requirements *d,
                                               struct strobe_jit_files *out, struct strobe_jit_names *result)
{
    char folder[2048], path[4096];
    enum strobe_status status = STROBE_NO_ENTRY;
    int length = base ? snprintf(folder, sizeof folder, "%s/.debug/jit", base) : -1;
    DIR *list = length > 0 && (size_t)length < sizeof folder ? opendir(folder) : NULL;
    for (struct dirent *e; list && status != STROBE_OK && (e = readdir(list));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", folder, e->d_name, name);
        status = read_file(path, d, out, result);
    }
    if (list)
        closedir(list);
    return status;
}

static enum strobe_status find_jitdump(const struct strobe_session *s, const char *folder, const struct requirements *d,
                                       struct strobe_jit_files *out, struct strobe_jit_names *result)
{
    char name[64], path[4096];
    snprintf(name, sizeof name, "jit-%" PRIu32 ".dump", d->pid);
    mapped_jitdump(s, name, path, sizeof path);
    enum strobe_status status = path[0] ? read_file(path, d, out, result) : STROBE_NO_ENTRY;
    if (status != STROBE_OK) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        status = read_file(path, d, out, result);
    }
    if (status != STROBE_OK) {
        snprintf(path, sizeof path, "/tmp/%s", name);
        status = read_file(path, d, out, result);
    }
    if (status != STROBE_OK)
        status = search_debug_folders(getenv("JITDUMPDIR"), name, d, out, result);
    return status != STROBE_OK ? search_debug_folders(getenv("HOME"), name, d, out, result) : status;
}

enum strobe_status strobe_jit_files_find(const struct strobe_session *session, const char *folder,
                                         struct strobe_jit_files *out, struct strobe_jit_names *result)
{
    const struct strobe_session_header *h = session->header;
    struct requirements d = {h->pid, geteuid(), h->begin.realtime_ns};
    char path[64];
    if (!h->pid)
        return STROBE_OK;
    snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", h->pid);
    if (read_file(path, &d, out, result) == STROBE_IO && errno == ENOMEM)
        return STROBE_IO;
    return find_jitdump(session, folder, &d, out, result) == STROBE_IO && errno == ENOMEM ? STROBE_IO : STROBE_OK;
}

void strobe_jit_files_close(struct strobe_jit_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free_file(files->list[i]);
    *files = (struct strobe_jit_files){0};
}
