/* The proxies of rhea.h. Each proxy calls the original exactly once, unless the ring took the message, and leaves errno
 * as the original did. */
#include "engine/method/rhea/art/rhea.h"

#include "engine/backend/art/hooks/hook.h"
#include "engine/capture/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum proxy {
    WRITE,
    WRITE_CHK,
    BEGIN_BODY,
    END_BODY,
    OPEN,
    OPEN64,
    OPEN_2,
    OPEN64_2,
    READ,
    READ_CHK,
    PREAD,
    PREAD64,
    PREAD_CHK,
    PREAD64_CHK,
    READV,
    PWRITE,
    PWRITE64,
    FSYNC,
    FDATASYNC,
    SYNC,
    PROXIES
};

static struct strobe_hook hook[PROXIES];

#define ORIGINAL(which, type) ((__typeof__(type) *)hook[which].original)

static struct strobe_rhea_capture *rhea_capture_of_thread(void)
{
    return strobe_local.busy ? NULL : strobe_rhea_on();
}

/* ---- messages */

/* Records a message. Returns true when the message must not go on to the marker. */
static bool rhea_take_message(struct strobe_rhea_capture *c, const char *text, size_t bytes, bool real)
{
    enum strobe_atrace_fate fate = strobe_atrace_message(&c->atrace, text, bytes);
    return !real || (fate != STROBE_ATRACE_PASSED && !c->forward);
}

/* Returns the running capture if `fd` is its marker, else NULL. */
static struct strobe_rhea_capture *rhea_capture_of_marker(int fd)
{
    struct strobe_rhea_capture *c = rhea_capture_of_thread();
    return c && fd != -1 && fd == __atomic_load_n(c->marker_fd, __ATOMIC_RELAXED) ? c : NULL;
}

/* With main_only: returns whether the call is another thread's, whose text libcutils need not format. */
static bool rhea_leaves_out(void)
{
    struct strobe_rhea_capture *c = rhea_capture_of_thread();
    return c && !c->forward && strobe_atrace_leaves_out(&c->atrace);
}

static void on_begin_body(const char *name)
{
    if (!rhea_leaves_out())
        ORIGINAL(BEGIN_BODY, void(const char *))(name);
}

static void on_end_body(void)
{
    if (!rhea_leaves_out())
        ORIGINAL(END_BODY, void(void))();
}

/* ---- files */

enum { PATH_ROOM = 768 };

static size_t rhea_read_path(int fd, char *path)
{
    char link[32] = "/proc/self/fd/", digits[12];
    size_t at = sizeof digits, from = strlen(link);
    if (fd < 0)
        return 0;
    do
        digits[--at] = (char)('0' + fd % 10);
    while (fd /= 10);
    memcpy(link + from, digits + at, sizeof digits - at);
    link[from + sizeof digits - at] = 0;
    int before = errno;
    long bytes = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_ROOM);
    errno = before;
    return bytes > 0 ? (size_t)bytes : 0;
}

static void rhea_begin_section(struct strobe_rhea_capture *c, const char *what, const char *path, size_t path_bytes,
                               uint64_t size, uint64_t offset)
{
    char label[STROBE_ATRACE_TEXT_MAX];
    size_t bytes = strobe_atrace_label(label, sizeof label, what, path, path_bytes, size, offset);
    strobe_atrace_section(&c->atrace, STROBE_ATRACE_BEGIN, label, bytes);
}

static STROBE_NOINLINE void rhea_begin_file_section(struct strobe_rhea_capture *c, const char *what, int fd,
                                                    uint64_t size, uint64_t offset)
{
    char path[PATH_ROOM];
    rhea_begin_section(c, what, path, rhea_read_path(fd, path), size, offset);
}

/* Returns the capture that records calls of this thread, or NULL. */
static struct strobe_rhea_capture *rhea_capture_of_call(void)
{
    struct strobe_rhea_capture *c = rhea_capture_of_thread();
    return c && !(c->atrace.main_only && strobe_atrace_leaves_out(&c->atrace)) ? c : NULL;
}

/* Records the begin of a file call. Returns the capture that needs an end event, or NULL. */
static struct strobe_rhea_capture *rhea_begin_call(const char *what, int fd, uint64_t size, uint64_t offset)
{
    struct strobe_rhea_capture *c = rhea_capture_of_thread();
    if (!c || size < c->io_least || !rhea_capture_of_call())
        return NULL;
    rhea_begin_file_section(c, what, fd, size, offset);
    return c;
}

static void rhea_end_call(struct strobe_rhea_capture *begun)
{
    if (begun && strobe_load_acquire(&begun->on)) {
        int before = errno;
        strobe_atrace_section(&begun->atrace, STROBE_ATRACE_END, "", 0);
        errno = before;
    }
}

typedef ssize_t writer(int fd, const void *from, size_t bytes);
typedef ssize_t checked_writer(int fd, const void *from, size_t bytes, size_t room);
typedef ssize_t reader(int fd, void *to, size_t bytes);
typedef ssize_t checked_reader(int fd, void *to, size_t bytes, size_t room);

static ssize_t on_write(int fd, const void *from, size_t bytes)
{
    struct strobe_rhea_capture *marked = rhea_capture_of_marker(fd);
    if (marked && rhea_take_message(marked, from, bytes, fd >= 0))
        return (ssize_t)bytes;
    struct strobe_rhea_capture *begun = marked ? NULL : rhea_begin_call("write", fd, bytes, STROBE_ATRACE_NONE);
    ssize_t wrote = ORIGINAL(WRITE, writer)(fd, from, bytes);
    rhea_end_call(begun);
    return wrote;
}

static ssize_t on_write_chk(int fd, const void *from, size_t bytes, size_t room)
{
    struct strobe_rhea_capture *marked = bytes <= room ? rhea_capture_of_marker(fd) : NULL;
    if (marked && rhea_take_message(marked, from, bytes, fd >= 0))
        return (ssize_t)bytes;
    struct strobe_rhea_capture *begun = marked ? NULL : rhea_begin_call("write", fd, bytes, STROBE_ATRACE_NONE);
    ssize_t wrote = ORIGINAL(WRITE_CHK, checked_writer)(fd, from, bytes, room);
    rhea_end_call(begun);
    return wrote;
}

static ssize_t on_read(int fd, void *to, size_t bytes)
{
    struct strobe_rhea_capture *begun = rhea_begin_call("read", fd, bytes, STROBE_ATRACE_NONE);
    ssize_t got = ORIGINAL(READ, reader)(fd, to, bytes);
    rhea_end_call(begun);
    return got;
}

static ssize_t on_read_chk(int fd, void *to, size_t bytes, size_t room)
{
    struct strobe_rhea_capture *begun = rhea_begin_call("read", fd, bytes, STROBE_ATRACE_NONE);
    ssize_t got = ORIGINAL(READ_CHK, checked_reader)(fd, to, bytes, room);
    rhea_end_call(begun);
    return got;
}

/* Variants for both widths of an offset, and with the buffer size that fortified programs pass. */
#define POSITIONED(name, which, what, buffer, offset_type)                                                             \
    static ssize_t name(int fd, buffer b, size_t bytes, offset_type offset)                                            \
    {                                                                                                                  \
        struct strobe_rhea_capture *begun = rhea_begin_call(what, fd, bytes, (uint64_t)offset);                        \
        ssize_t done = ORIGINAL(which, ssize_t(int, buffer, size_t, offset_type))(fd, b, bytes, offset);               \
        rhea_end_call(begun);                                                                                          \
        return done;                                                                                                   \
    }
POSITIONED(on_pread, PREAD, "read", void *, off_t)
POSITIONED(on_pread64, PREAD64, "read", void *, int64_t)
POSITIONED(on_pwrite, PWRITE, "write", const void *, off_t)
POSITIONED(on_pwrite64, PWRITE64, "write", const void *, int64_t)

#define POSITIONED_CHECKED(name, which, offset_type)                                                                   \
    static ssize_t name(int fd, void *to, size_t bytes, offset_type offset, size_t room)                               \
    {                                                                                                                  \
        struct strobe_rhea_capture *begun = rhea_begin_call("read", fd, bytes, (uint64_t)offset);                      \
        ssize_t got = ORIGINAL(which, ssize_t(int, void *, size_t, offset_type, size_t))(fd, to, bytes, offset, room); \
        rhea_end_call(begun);                                                                                          \
        return got;                                                                                                    \
    }
POSITIONED_CHECKED(on_pread_chk, PREAD_CHK, off_t)
POSITIONED_CHECKED(on_pread64_chk, PREAD64_CHK, int64_t)

/* The caller is responsible for the vector. The proxy reads it only in cases in which the system reads it, too. */
static ssize_t on_readv(int fd, const struct iovec *vector, int count)
{
    uint64_t bytes = 0;
    if (rhea_capture_of_thread() && vector && count > 0 && count <= 1024)
        for (int i = 0; i < count; i++)
            bytes += vector[i].iov_len;
    struct strobe_rhea_capture *begun = bytes ? rhea_begin_call("read", fd, bytes, STROBE_ATRACE_NONE) : NULL;
    ssize_t got = ORIGINAL(READV, ssize_t(int, const struct iovec *, int))(fd, vector, count);
    rhea_end_call(begun);
    return got;
}

static struct strobe_rhea_capture *rhea_begin_open(const char *path)
{
    struct strobe_rhea_capture *c = path ? rhea_capture_of_call() : NULL;
    if (c)
        rhea_begin_section(c, "open", path, strnlen(path, PATH_ROOM), STROBE_ATRACE_NONE, STROBE_ATRACE_NONE);
    return c;
}

#ifdef O_TMPFILE
#define NEEDS_MODE(flags) ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)
#else
#define NEEDS_MODE(flags) ((flags)&O_CREAT)
#endif

static unsigned rhea_open_mode(int flags, va_list more)
{
    return NEEDS_MODE(flags) ? va_arg(more, unsigned) : 0;
}

#define OPENING(name, which)                                                                                           \
    static int name(const char *path, int flags, ...)                                                                  \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        unsigned mode = rhea_open_mode(flags, more);                                                                   \
        va_end(more);                                                                                                  \
        struct strobe_rhea_capture *begun = rhea_begin_open(path);                                                     \
        int fd = ORIGINAL(which, int(const char *, int, ...))(path, flags, mode);                                      \
        rhea_end_call(begun);                                                                                          \
        return fd;                                                                                                     \
    }
OPENING(on_open, OPEN)
OPENING(on_open64, OPEN64)

#define OPENING_2(name, which)                                                                                         \
    static int name(const char *path, int flags)                                                                       \
    {                                                                                                                  \
        struct strobe_rhea_capture *begun = rhea_begin_open(path);                                                     \
        int fd = ORIGINAL(which, int(const char *, int))(path, flags);                                                 \
        rhea_end_call(begun);                                                                                          \
        return fd;                                                                                                     \
    }
OPENING_2(on_open_2, OPEN_2)
OPENING_2(on_open64_2, OPEN64_2)

static int on_fsync(int fd)
{
    struct strobe_rhea_capture *begun = rhea_begin_call("fsync", fd, STROBE_ATRACE_NONE, STROBE_ATRACE_NONE);
    int result = ORIGINAL(FSYNC, int(int))(fd);
    rhea_end_call(begun);
    return result;
}

static int on_fdatasync(int fd)
{
    struct strobe_rhea_capture *begun = rhea_begin_call("fdatasync", fd, STROBE_ATRACE_NONE, STROBE_ATRACE_NONE);
    int result = ORIGINAL(FDATASYNC, int(int))(fd);
    rhea_end_call(begun);
    return result;
}

static void on_sync(void)
{
    struct strobe_rhea_capture *begun = rhea_capture_of_call();
    if (begun)
        rhea_begin_section(begun, "io", "sync", 4, STROBE_ATRACE_NONE, STROBE_ATRACE_NONE);
    ORIGINAL(SYNC, void(void))();
    rhea_end_call(begun);
}

/* ---- slots */

enum when { ALWAYS, MAIN_ONLY, IO };

#define TO(function) ((void *)(uintptr_t)(function))

static bool wanted[3];
static const struct {
    const char *symbol;
    enum when when;
} table[PROXIES] = {
    [WRITE] = {"write", ALWAYS},
    [WRITE_CHK] = {"__write_chk", ALWAYS},
    [BEGIN_BODY] = {"atrace_begin_body", MAIN_ONLY},
    [END_BODY] = {"atrace_end_body", MAIN_ONLY},
    [OPEN] = {"open", IO},
    [OPEN64] = {"open64", IO},
    [OPEN_2] = {"__open_2", IO},
    [OPEN64_2] = {"__open64_2", IO},
    [READ] = {"read", IO},
    [READ_CHK] = {"__read_chk", IO},
    [PREAD] = {"pread", IO},
    [PREAD64] = {"pread64", IO},
    [PREAD_CHK] = {"__pread_chk", IO},
    [PREAD64_CHK] = {"__pread64_chk", IO},
    [READV] = {"readv", IO},
    [PWRITE] = {"pwrite", IO},
    [PWRITE64] = {"pwrite64", IO},
    [FSYNC] = {"fsync", IO},
    [FDATASYNC] = {"fdatasync", IO},
    [SYNC] = {"sync", IO},
};

static void *rhea_proxy_of(enum proxy which)
{
    void *const of[PROXIES] = {
        [WRITE] = TO(on_write),
        [WRITE_CHK] = TO(on_write_chk),
        [BEGIN_BODY] = TO(on_begin_body),
        [END_BODY] = TO(on_end_body),
        [OPEN] = TO(on_open),
        [OPEN64] = TO(on_open64),
        [OPEN_2] = TO(on_open_2),
        [OPEN64_2] = TO(on_open64_2),
        [READ] = TO(on_read),
        [READ_CHK] = TO(on_read_chk),
        [PREAD] = TO(on_pread),
        [PREAD64] = TO(on_pread64),
        [PREAD_CHK] = TO(on_pread_chk),
        [PREAD64_CHK] = TO(on_pread64_chk),
        [READV] = TO(on_readv),
        [PWRITE] = TO(on_pwrite),
        [PWRITE64] = TO(on_pwrite64),
        [FSYNC] = TO(on_fsync),
        [FDATASYNC] = TO(on_fdatasync),
        [SYNC] = TO(on_sync),
    };
    return of[which];
}

static enum strobe_status rhea_hook_all(void)
{
    for (int i = 0; i < PROXIES; i++) {
        if (!wanted[table[i].when])
            continue;
        enum strobe_status status = strobe_hook_slots(&hook[i], table[i].symbol, rhea_proxy_of((enum proxy)i));
        if (status != STROBE_OK && status != STROBE_NO_ENTRY)
            return status;
    }
    bool writes = hook[WRITE].kind != STROBE_HOOK_NONE || hook[WRITE_CHK].kind != STROBE_HOOK_NONE;
    return writes ? STROBE_OK : STROBE_UNSUPPORTED;
}

enum strobe_status strobe_rhea_hook(bool main_only, bool io)
{
    wanted[ALWAYS] = true;
    wanted[MAIN_ONLY] = main_only;
    wanted[IO] = io;
    enum strobe_status status = rhea_hook_all();
    if (status != STROBE_OK)
        strobe_rhea_unhook();
    return status;
}

void strobe_rhea_hook_again(void)
{
    rhea_hook_all();
}

enum strobe_status strobe_rhea_unhook(void)
{
    enum strobe_status worst = STROBE_OK;
    for (int i = 0; i < PROXIES; i++) {
        enum strobe_status status = strobe_hook_remove(&hook[i]);
        worst = status != STROBE_OK ? status : worst;
    }
    return worst;
}
