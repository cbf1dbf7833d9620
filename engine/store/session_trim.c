/* Frees the blocks of a finished session that hold only zeros. */
#include "engine/store/session.h"

#include <fcntl.h>

#ifdef FALLOC_FL_PUNCH_HOLE

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096 };

static bool is_zero(const char *block, size_t bytes)
{
    return block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0;
}

static enum strobe_status punch_hole(int fd, uint64_t from, uint64_t to)
{
    if (from == to)
        return STROBE_OK;
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (fallocate(fd, mode, (off_t)from, (off_t)(to - from)) == 0)
        return STROBE_OK;
    return errno == EOPNOTSUPP || errno == ENOSYS ? STROBE_UNSUPPORTED : STROBE_IO;
}

/* Returns the end of the run of blocks from `at` on that the file system reports as a hole, or `at` when there is none.
 * The caller need not read these blocks. */
static uint64_t end_of_hole(int fd, uint64_t at, uint64_t end)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : at;
    uint64_t aligned = (uint64_t)data & ~(uint64_t)(BLOCK_BYTES - 1);
    return aligned < at ? at : aligned < end ? aligned : end;
}

static enum strobe_status punch_zeros(int fd, uint64_t at, uint64_t end)
{
    uint64_t zeros_from = at;
    while (at < end) {
        uint64_t next = end_of_hole(fd, at, end);
        if (next == at) {
            char block[BLOCK_BYTES];
            if (pread(fd, block, sizeof block, (off_t)at) != BLOCK_BYTES)
                return STROBE_IO;
            next = at + BLOCK_BYTES;
            if (!is_zero(block, sizeof block)) {
                enum strobe_status status = punch_hole(fd, zeros_from, at);
                if (status)
                    return status;
                zeros_from = next;
            }
        }
        at = next;
    }
    return punch_hole(fd, zeros_from, end);
}

/* True when a process writes to the session or may do so later. A process that has closed the session may still be
 * running its exit, and write. A process that is attaching sets the state before it stores its id. An id of another PID
 * namespace cannot be looked up here. */
static bool may_be_written(const struct strobe_session *s)
{
    const struct strobe_session_header *h = s->header;
    bool knows_namespace = h->header_bytes >= offsetof(struct strobe_session_header, pid_namespace) + 8;
    uint64_t namespace = knows_namespace ? h->pid_namespace : 0;
    if (h->pid == 0)
        return strobe_load_relaxed(&h->state) != STROBE_SESSION_CLOSED;
    if (namespace && namespace != strobe_session_namespace())
        return true;
    return h->pid <= INT32_MAX && (kill((pid_t)h->pid, 0) == 0 || errno == EPERM);
}

static enum strobe_status trim_session(const char *path, bool closed)
{
    struct strobe_session s;
    enum strobe_status status = strobe_session_open(path, &s);
    if (status)
        return status;
    uint64_t end = s.mapped_bytes;
    bool in_use = !closed && may_be_written(&s);
    strobe_session_unmap(&s);
    if (in_use)
        return STROBE_EXISTS;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return STROBE_IO;
    /* Readahead would fill the holes behind each block with zeros in memory; SEEK_DATA would then not report holes. */
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    status = punch_zeros(fd, BLOCK_BYTES, end);
    int error = errno;
    close(fd);
    errno = error;
    return status;
}

enum strobe_status strobe_session_trim(const char *path)
{
    return trim_session(path, false);
}

enum strobe_status strobe_session_trim_closed(const char *path)
{
    return trim_session(path, true);
}

#else

enum strobe_status strobe_session_trim(const char *path)
{
    (void)path;
    return STROBE_UNSUPPORTED;
}

enum strobe_status strobe_session_trim_closed(const char *path)
{
    (void)path;
    return STROBE_UNSUPPORTED;
}

#endif
