#include "engine/backend/common/slots/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

/* The kernel changes protections by pages of 4, 16 or 64 KiB. A multiple of 64 KiB is a multiple of each. */
static const uintptr_t LARGEST_PAGE_MASK = (1 << 16) - 1;

struct reader {
    int fd;
    size_t have, next;
    bool failed;
    char bytes[4096];
};

/* Returns -1 at the end. */
static int read_maps_byte(struct reader *r)
{
    if (r->next == r->have) {
        ssize_t got;
        do
            got = read(r->fd, r->bytes, sizeof r->bytes);
        while (got < 0 && errno == EINTR);
        r->failed |= got < 0;
        if (got <= 0)
            return -1;
        r->have = (size_t)got;
        r->next = 0;
    }
    return (unsigned char)r->bytes[r->next++];
}

/* Reads a hexadecimal number and the byte after it. */
static uintptr_t read_maps_hex(struct reader *r)
{
    uintptr_t value = 0;
    for (;;) {
        int c = read_maps_byte(r);
        if (c >= '0' && c <= '9')
            value = value << 4 | (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uintptr_t)(c - 'a' + 10);
        else
            return value;
    }
}

/* Reads one line: `start-end rwxp ...`. Returns false at the end. */
static bool read_maps_line(struct reader *r, struct strobe_mapping *m)
{
    m->start = read_maps_hex(r);
    m->end = read_maps_hex(r);
    m->protection = 0;
    m->protection |= read_maps_byte(r) == 'r' ? PROT_READ : 0;
    m->protection |= read_maps_byte(r) == 'w' ? PROT_WRITE : 0;
    m->protection |= read_maps_byte(r) == 'x' ? PROT_EXEC : 0;
    for (;;) {
        int c = read_maps_byte(r);
        if (c == '\n' || c < 0)
            return c == '\n';
    }
}

enum strobe_status strobe_mapping_at(const void *address, struct strobe_mapping *out)
{
    struct reader r = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    enum strobe_status status = STROBE_NO_ENTRY;
    uintptr_t at = (uintptr_t)address;
    if (r.fd < 0)
        return STROBE_IO;
    while (status != STROBE_OK && read_maps_line(&r, out))
        if (at >= out->start && at < out->end)
            status = STROBE_OK;
    close(r.fd);
    return status != STROBE_OK && r.failed ? STROBE_IO : status;
}

enum strobe_status strobe_unprotect_in(const struct strobe_mapping *m, void *address, size_t bytes,
                                       struct strobe_unprotected *out)
{
    uintptr_t at = (uintptr_t)address;
    if (at + bytes > m->end)
        return STROBE_BAD_INPUT;
    uintptr_t start = at & ~LARGEST_PAGE_MASK, end = (at + bytes + LARGEST_PAGE_MASK) & ~LARGEST_PAGE_MASK;
    start = start > m->start ? start : m->start;
    end = end < m->end ? end : m->end;
    *out = (struct strobe_unprotected){(void *)start, m->protection & PROT_WRITE ? 0 : end - start, m->protection};
    if (out->bytes && mprotect(out->start, out->bytes, m->protection | PROT_WRITE) != 0)
        return STROBE_IO;
    return STROBE_OK;
}

enum strobe_status strobe_unprotect(void *address, size_t bytes, struct strobe_unprotected *out)
{
    struct strobe_mapping m;
    enum strobe_status status = strobe_mapping_at(address, &m);
    return status == STROBE_OK ? strobe_unprotect_in(&m, address, bytes, out) : status;
}

enum strobe_status strobe_protect_again(const struct strobe_unprotected *u)
{
    if (u->bytes && mprotect(u->start, u->bytes, u->protection) != 0)
        return STROBE_IO;
    return STROBE_OK;
}

/* ---- memory near code ---- */

/* Asks for an address. The kernel may offer another one when it is taken. */
static void *map_at(uintptr_t at, uintptr_t near, size_t reach, int protection)
{
    void *page = mmap((void *)at, STROBE_NEAR_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    uintptr_t away = (uintptr_t)page > near ? (uintptr_t)page - near : near - (uintptr_t)page;
    if (away < reach)
        return page;
    munmap(page, STROBE_NEAR_BYTES);
    return NULL;
}

/* Asks for addresses at growing distances. */
void *strobe_map_near(const void *place, size_t reach, int protection)
{
    enum { STEPS = 2048 };
    uintptr_t near = (uintptr_t)place & ~(uintptr_t)(STROBE_NEAR_BYTES - 1);
    uintptr_t stride = (reach / STEPS + LARGEST_PAGE_MASK) & ~LARGEST_PAGE_MASK;
    for (uintptr_t away = stride; away < reach; away += stride) {
        void *page = near > away ? map_at(near - away, near, reach, protection) : NULL;
        if (!page)
            page = map_at(near + away, near, reach, protection);
        if (page)
            return page;
    }
    return NULL;
}
