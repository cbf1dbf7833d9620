#include "engine/backend/linux/preload/followed.h"

#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/preload/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NUMBERS_MAX = 100000 };

static char own_path[PATH_MAX + 32]; /* "" = this process has no file in the folder */
static struct strobe_session_limit limit;
static strobe_a32 refused; /* 1: the last attempt failed */
static uint64_t due_ns;    /* age at which the other blocks are reserved */

/* ---- which programs ---- */

static bool matches_pattern(const char *pattern, size_t n, const char *name)
{
    if (n == 0)
        return *name == '\0';
    if (*pattern == '*')
        return matches_pattern(pattern + 1, n - 1, name) || (*name && matches_pattern(pattern, n, name + 1));
    return *name && (*pattern == '?' || *pattern == *name) && matches_pattern(pattern + 1, n - 1, name + 1);
}

static const char *program_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool strobe_followed_wants(const char *only)
{
    char exe[PATH_MAX];
    if (!*only)
        return true;
    long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    for (const char *at = only; *at;) {
        size_t length = strcspn(at, ",");
        if (matches_pattern(at, length, program_base_name(exe)) ||
            matches_pattern(at, length, program_invocation_short_name))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

/* ---- files ---- */

static int create_file(const char *first, uint32_t pid)
{
    int folder = (int)(program_base_name(first) - first);
    for (int i = 1; i < NUMBERS_MAX; i++) {
        int n = i == 1 ? snprintf(own_path, sizeof own_path, "%.*s%u.strobe", folder, first, pid)
                       : snprintf(own_path, sizeof own_path, "%.*s%u.%d.strobe", folder, first, pid, i);
        if (n < 0 || (size_t)n >= sizeof own_path)
            return -1;
        int fd = (int)syscall(SYS_openat, AT_FDCWD, own_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* ---- blocks ---- */

/* Allocates blocks by writing zeros, for a file system that cannot reserve blocks. No thread stores to these pages
 * before the function returns. */
static bool write_zeros(int fd, uint64_t at, uint64_t end)
{
    static const char zeros[4096];
    while (at < end) {
        uint64_t bytes = end - at < sizeof zeros ? end - at : sizeof zeros;
        long done = syscall(SYS_pwrite64, fd, zeros, (size_t)bytes, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += (uint64_t)done;
    }
    return true;
}

static bool reserve_range(int fd, uint64_t at, uint64_t end)
{
    long status = 0;
    do
        status = at < end ? syscall(SYS_fallocate, fd, 0, (off_t)at, (off_t)(end - at)) : 0;
    while (status != 0 && errno == EINTR);
    return status == 0 || ((errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(fd, at, end));
}

static bool reserve_parts(int fd, const struct strobe_config *config)
{
    struct strobe_part part[STROBE_SESSION_PARTS];
    uint32_t count = strobe_session_parts(config, part);
    for (uint32_t i = 0; i < count; i++)
        if (!reserve_range(fd, part[i].offset, part[i].offset + part[i].bytes))
            return false;
    return true;
}

/* Reserves the blocks between and after the parts. Other threads store to the parts meanwhile. */
static bool reserve_between(int fd, const struct strobe_session *session)
{
    struct strobe_part part[STROBE_SESSION_PARTS];
    uint32_t count = strobe_session_parts(&session->header->config, part);
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!reserve_range(fd, at, part[i].offset))
            return false;
        at = part[i].offset + part[i].bytes;
    }
    return reserve_range(fd, at, session->mapped_bytes);
}

/* Returns false also when the file cannot be opened, for example after a chroot. */
static bool reserve_rest(const struct strobe_session *session)
{
    int saved = errno;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, own_path, O_RDWR | O_CLOEXEC);
    bool reserved = fd >= 0 && reserve_between(fd, session);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (reserved)
        strobe_session_end_limit(session);
    strobe_store_relaxed(&refused, !reserved);
    errno = saved;
    return reserved;
}

/* After a failed attempt only the sampler tries again. Events can request an entry thousands of times a second. */
static bool end_limit(const struct strobe_session *session)
{
    return !strobe_load_relaxed(&refused) && reserve_rest(session);
}

/* Counts a process that is not recorded in the session of the first program, which reports the number at its end. */
static void count_unrecorded(const char *first)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, first, O_RDWR | O_CLOEXEC);
    void *page = fd < 0 ? MAP_FAILED
                        : mmap(NULL, sizeof(struct strobe_session_header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (page == MAP_FAILED)
        return;
    strobe_add_relaxed(&((struct strobe_session_header *)page)->children_left, 1);
    munmap(page, sizeof(struct strobe_session_header));
}

static bool create_followed_session(int fd, const struct strobe_config *config, struct strobe_session *out)
{
    char command[1024];
    /* Without a sampler no thread would reserve the other blocks, and the call log supports no limit. */
    bool limited = config->async_interval_ns && !config->calls && !config->names_bytes;
    strobe_linux_command(command, sizeof command);
    bool reserved = limited ? reserve_parts(fd, config) : reserve_range(fd, 0, strobe_session_file_bytes(config));
    if (!reserved) {
        syscall(SYS_close, fd);
        return false;
    }
    if (strobe_session_create_in(fd, config, command, out) != STROBE_OK)
        return false;
    syscall(SYS_close, out->fd);
    out->fd = -1;
    if (limited) {
        limit.end = end_limit;
        due_ns = STROBE_FOLLOWED_PART_NS;
        strobe_store_relaxed(&refused, 0);
        strobe_session_limit_to_parts(out, &limit);
    }
    return true;
}

bool strobe_followed_open(const char *first, uint32_t pid, const struct strobe_config *config,
                          struct strobe_session *out)
{
    int fd = create_file(first, pid);
    if (fd < 0 || !create_followed_session(fd, config, out)) {
        if (fd >= 0)
            unlink(own_path);
        own_path[0] = '\0';
        count_unrecorded(first);
        return false;
    }
    out->header->pid_namespace = strobe_session_namespace();
    return strobe_session_begin(out, pid) == STROBE_OK;
}

void strobe_followed_reserve(const struct strobe_session *session, uint64_t age_ns)
{
    if (!session->limit || strobe_load_relaxed(&session->limit->threads) == UINT32_MAX)
        return;
    bool due = age_ns >= due_ns || (due_ns == STROBE_FOLLOWED_PART_NS && strobe_session_nears_limit(session));
    if (!due)
        return;
    reserve_rest(session);
    due_ns = age_ns + STROBE_FOLLOWED_AGAIN_NS;
}
