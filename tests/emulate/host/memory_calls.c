/* Calls on memory and files. A guest can open existing files only; a session is one. */
#include "tests/emulate/host/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, COPY_BYTES = 1 << 16, GUEST_ANONYMOUS = 0x1000, GUEST_SHARED = 1, GUEST_WRITES = 3 };

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + MACHINE_PAGE - 1) & ~(uint64_t)(MACHINE_PAGE - 1);
}

static uint64_t failed(int error)
{
    return (uint64_t) - (int64_t)error;
}

static bool is_task(struct kernel *k, uint64_t name)
{
    const struct port *p = kernel_port(k, (mach_port_name_t)name);
    return p && p->kind == PORT_TASK;
}

/* ---- Mach */

static uint64_t vm_read(struct kernel *k, const struct call *c)
{
    const struct machine *m = &k->machine;
    if (!machine_allows(m, c->a[1], c->a[2], 0))
        return KERN_INVALID_ADDRESS;
    if (!machine_allows(m, c->a[1], c->a[2], MACHINE_READ))
        return KERN_PROTECTION_FAILURE;
    if (!machine_allows(m, c->a[3], c->a[2], MACHINE_WRITE))
        return KERN_INVALID_ADDRESS;
    uint8_t part[4096];
    for (uint64_t done = 0, now; done < c->a[2]; done += now) {
        now = c->a[2] - done < sizeof part ? c->a[2] - done : sizeof part;
        machine_read(m, c->a[1] + done, part, now);
        machine_write(m, c->a[3] + done, part, now);
    }
    return machine_write(m, c->a[4], &c->a[2], sizeof c->a[2]) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

static uint64_t vm_allocate_some(struct kernel *k, const struct call *c)
{
    struct machine *m = &k->machine;
    uint64_t at, bytes = whole_pages(c->a[2]);
    if (!machine_read(m, c->a[1], &at, sizeof at))
        return KERN_INVALID_ADDRESS;
    at = c->a[3] & VM_FLAGS_ANYWHERE ? machine_room(m, bytes) : at & ~(uint64_t)(MACHINE_PAGE - 1);
    if (!bytes)
        at = 0;
    else if (!machine_map(m, at, bytes, MACHINE_READ | MACHINE_WRITE))
        return KERN_NO_SPACE;
    return machine_write(m, c->a[1], &at, sizeof at) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

static uint64_t vm_protect_some(struct kernel *k, const struct call *c)
{
    uint64_t base = c->a[1] & ~(uint64_t)(MACHINE_PAGE - 1), bytes = whole_pages(c->a[1] + c->a[2] - base);
    return machine_protect(&k->machine, base, bytes, (unsigned)c->a[4] & 7) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

static void unmap(struct kernel *k, uint64_t at, uint64_t bytes)
{
    uint64_t base = at & ~(uint64_t)(MACHINE_PAGE - 1);
    if (bytes)
        machine_unmap(&k->machine, base, whole_pages(at + bytes - base));
}

/* ---- POSIX */

static uint64_t open_file(struct kernel *k, const struct call *c)
{
    char path[PATH_BYTES];
    machine_text(&k->machine, c->a[0], path, sizeof path);
    int fd = open(path, (int)(c->a[1] & GUEST_WRITES) | O_CLOEXEC);
    return fd < 0 ? failed(errno == EACCES ? EACCES : ENOENT) : (uint64_t)fd;
}

static uint64_t file_bytes(const struct call *c)
{
    struct stat s;
    return fstat((int)c->a[0], &s) ? failed(EBADF) : (uint64_t)s.st_size;
}

static uint64_t read_file(struct kernel *k, const struct call *c)
{
    static uint8_t part[COPY_BYTES];
    size_t bytes = c->a[2] < sizeof part ? c->a[2] : sizeof part;
    ssize_t got = pread((int)c->a[0], part, bytes, (off_t)c->a[3]);
    if (got < 0)
        return failed(EBADF);
    return machine_write(&k->machine, c->a[1], part, (uint64_t)got) ? (uint64_t)got : failed(EFAULT);
}

static uint64_t write_text(struct kernel *k, const struct call *c)
{
    static uint8_t part[COPY_BYTES];
    size_t bytes = c->a[2] < sizeof part ? c->a[2] : sizeof part;
    if (c->a[0] != STDOUT_FILENO && c->a[0] != STDERR_FILENO)
        return failed(EBADF);
    if (!machine_read(&k->machine, c->a[1], part, bytes))
        return failed(EFAULT);
    return (uint64_t)write((int)c->a[0], part, bytes);
}

static uint64_t map_some(struct kernel *k, const struct call *c)
{
    uint64_t bytes = whole_pages(c->a[1]), at = machine_room(&k->machine, bytes);
    unsigned protection = (unsigned)c->a[2] & 7;
    bool shared = c->a[3] & GUEST_SHARED;
    bool done = c->a[3] & GUEST_ANONYMOUS
                    ? machine_map(&k->machine, at, bytes, protection)
                    : machine_map_file(&k->machine, at, bytes, protection, (int)c->a[4], c->a[5], shared);
    return done ? at : failed(ENOMEM);
}

uint64_t memory_answer(struct kernel *k, struct thread *t, const struct call *c)
{
    (void)t;
    switch (c->number) {
    case CALL_VM_READ_OVERWRITE: return is_task(k, c->a[0]) ? vm_read(k, c) : MACH_SEND_INVALID_DEST;
    case CALL_VM_ALLOCATE: return is_task(k, c->a[0]) ? vm_allocate_some(k, c) : MACH_SEND_INVALID_DEST;
    case CALL_VM_PROTECT: return is_task(k, c->a[0]) ? vm_protect_some(k, c) : MACH_SEND_INVALID_DEST;
    case CALL_VM_DEALLOCATE:
        if (!is_task(k, c->a[0]))
            return MACH_SEND_INVALID_DEST;
        unmap(k, c->a[1], c->a[2]);
        return KERN_SUCCESS;
    case CALL_OPEN: return open_file(k, c);
    case CALL_CLOSE: return c->a[0] > STDERR_FILENO && !close((int)c->a[0]) ? 0 : failed(EBADF);
    case CALL_FILE_BYTES: return file_bytes(c);
    case CALL_PREAD: return read_file(k, c);
    case CALL_WRITE: return write_text(k, c);
    case CALL_FTRUNCATE: return ftruncate((int)c->a[0], (off_t)c->a[1]) ? failed(EINVAL) : 0;
    case CALL_MMAP: return map_some(k, c);
    case CALL_MUNMAP: unmap(k, c->a[0], c->a[1]); return 0;
    default:
        return machine_protect(&k->machine, c->a[0], whole_pages(c->a[1]), (unsigned)c->a[2] & 7) ? 0 : failed(ENOMEM);
    }
}
