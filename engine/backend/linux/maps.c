#include "engine/backend/linux/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE_BYTES = 4096, LINE_BYTES = STROBE_PATH_BYTES + 128 };

static bool take_hex(const char **at, uint64_t *out)
{
    const char *p = *at;
    for (*out = 0;; p++) {
        unsigned digit = (unsigned char)*p;
        if (digit >= '0' && digit <= '9')
            digit -= '0';
        else if (digit >= 'a' && digit <= 'f')
            digit -= 'a' - 10;
        else
            break;
        *out = *out << 4 | digit;
    }
    bool taken = p != *at;
    *at = p;
    return taken;
}

/* Moves past the blanks after this word. */
static const char *next_word(const char *p)
{
    while (*p && *p != ' ')
        p++;
    while (*p == ' ')
        p++;
    return p;
}

static void copy_map_path(struct strobe_linux_map *out, const char *path)
{
    static const char deleted[] = " (deleted)";
    size_t n = strlen(path), mark = sizeof deleted - 1;
    if (n > mark && !strcmp(path + n - mark, deleted))
        n -= mark;
    out->path_cut = n >= sizeof out->path;
    if (out->path_cut)
        n = sizeof out->path - 1;
    memcpy(out->path, path, n);
    out->path[n] = '\0';
}

bool strobe_linux_parse_map(const char *line, struct strobe_linux_map *out)
{
    const char *p = line;
    if (!take_hex(&p, &out->start) || *p++ != '-' || !take_hex(&p, &out->end) || *p++ != ' ' || strlen(p) < 4)
        return false;
    out->is_writable = p[1] == 'w';
    out->is_executable = p[2] == 'x';
    for (int word = 0; word < 4; word++) /* rights, offset, device, inode */
        p = next_word(p);
    copy_map_path(out, p);
    return true;
}

/* Assembles lines from pieces. The part of a line that does not fit is omitted. */
struct lines {
    bool (*visit)(void *ctx, const struct strobe_linux_map *map);
    void *ctx;
    char line[LINE_BYTES];
    size_t used;
};

static bool split_piece(struct lines *l, const char *piece, size_t bytes)
{
    struct strobe_linux_map map;
    for (size_t i = 0; i < bytes; i++) {
        if (piece[i] != '\n') {
            if (l->used < sizeof l->line - 1)
                l->line[l->used++] = piece[i];
            continue;
        }
        l->line[l->used] = '\0';
        l->used = 0;
        if (strobe_linux_parse_map(l->line, &map) && !l->visit(l->ctx, &map))
            return false;
    }
    return true;
}

void strobe_linux_visit_maps(bool (*visit)(void *ctx, const struct strobe_linux_map *map), void *ctx)
{
    struct lines l = {.visit = visit, .ctx = ctx};
    char piece[PIECE_BYTES];
    int saved = errno;
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    for (long n = fd < 0 ? 0 : 1; n > 0;) {
        n = syscall(SYS_read, fd, piece, sizeof piece);
        if (n > 0 && !split_piece(&l, piece, (size_t)n))
            break;
    }
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = saved;
}
