#include "engine/flight/dump_folder.h"

#include "engine/base/time_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

enum { LOCK_STEPS = 50, LOCK_STEP_NS = 20 * 1000 * 1000, DAY_TEXT_BYTES = 96, WRITE_BYTES_MAX = 1 << 20 };

/* What the dumps in the folder add up to. */
struct dump_sums {
    uint32_t dumps, oldest; /* oldest: its slot; valid if there are dumps */
    uint64_t bytes;
    struct timespec oldest_time;
    bool taken[STROBE_DUMP_SLOTS];
};

struct dump_day {
    uint64_t day, dumps, bytes;
};

static enum strobe_status fail_dump(enum strobe_status status, struct strobe_error *error, const char *path,
                                    const char *why)
{
    int saved = errno;
    strobe_error_join(error, path, why);
    errno = saved;
    return status;
}

static const char *describe_dump_failure(int error)
{
    switch (error) {
    case EACCES: return "permission denied";
    case EROFS: return "the file system is read-only";
    case ENOSPC:
    case EDQUOT: return "no space left on the device";
    case ENOENT: return "there is no such folder";
    case ENOTDIR: return "is no folder";
    default: return strobe_status_text(STROBE_IO);
    }
}

/* ---- paths */

static void dump_file_path(const struct strobe_dump_folder *f, const char *name, char out[STROBE_DUMP_PATH_BYTES])
{
    size_t n = strnlen(f->path, sizeof f->path - 1), bytes = strlen(name) + 1;
    memcpy(out, f->path, n);
    out[n++] = '/';
    memcpy(out + n, name, bytes);
}

void strobe_dump_path(const struct strobe_dump_folder *f, uint32_t slot, char out[STROBE_DUMP_PATH_BYTES])
{
    char name[] = "dump-00.strobe";
    name[5] = (char)('0' + slot / 10 % 10);
    name[6] = (char)('0' + slot % 10);
    dump_file_path(f, name, out);
}

/* ---- files */

static bool write_whole(int fd, const char *bytes, uint64_t count)
{
    while (count) {
        ssize_t n = write(fd, bytes, count < WRITE_BYTES_MAX ? (size_t)count : WRITE_BYTES_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        count -= (uint64_t)n;
    }
    return true;
}

/* Writes a file under its temporary name, on the disk. On failure it leaves no file, and errno has the reason. */
static bool write_partial(const char *path, const void *bytes, uint64_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool whole = write_whole(fd, bytes, count) && fsync(fd) == 0;
    int saved = errno;
    whole = close(fd) == 0 && whole;
    if (!whole) {
        unlink(path);
        errno = saved;
    }
    return whole;
}

static bool move_partial(const char *from, const char *to)
{
    if (rename(from, to) == 0)
        return true;
    int saved = errno;
    unlink(from);
    errno = saved;
    return false;
}

/* ---- the lock */

static int lock_dump_folder(const struct strobe_dump_folder *f)
{
    char path[STROBE_DUMP_PATH_BYTES];
    struct timespec pause = {0, LOCK_STEP_NS};
    dump_file_path(f, ".lock", path);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (i == LOCK_STEPS || (errno != EWOULDBLOCK && errno != EINTR)) {
            int saved = errno;
            close(fd);
            errno = saved;
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return fd;
}

/* ---- the day */

static bool read_day_number(const char **text, size_t *left, uint64_t *out)
{
    size_t digits = strobe_read_decimal(*text, *left, out);
    if (!digits || digits == *left || ((*text)[digits] != ' ' && (*text)[digits] != '\n'))
        return false;
    *text += digits + 1;
    *left -= digits + 1;
    return true;
}

/* Reads the numbers of this day. Of another day, or when they are damaged, they are 0. */
static struct dump_day read_dump_day(const struct strobe_dump_folder *f, uint64_t day)
{
    char path[STROBE_DUMP_PATH_BYTES], text[DAY_TEXT_BYTES];
    struct dump_day d = {0};
    dump_file_path(f, ".day", path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    const char *at = text;
    size_t left = n > 0 ? (size_t)n : 0;
    bool whole = read_day_number(&at, &left, &d.day) && read_day_number(&at, &left, &d.dumps) &&
                 read_day_number(&at, &left, &d.bytes) && !left;
    return whole && d.day == day ? d : (struct dump_day){.day = day};
}

static void add_day_number(char **at, uint64_t number, char behind)
{
    char digits[20];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        *(*at)++ = digits[--n];
    *(*at)++ = behind;
}

static bool write_dump_day(const struct strobe_dump_folder *f, const struct dump_day *d)
{
    char partial[STROBE_DUMP_PATH_BYTES], path[STROBE_DUMP_PATH_BYTES], text[DAY_TEXT_BYTES];
    char *at = text;
    add_day_number(&at, d->day, ' ');
    add_day_number(&at, d->dumps, ' ');
    add_day_number(&at, d->bytes, '\n');
    dump_file_path(f, ".day.partial", partial);
    dump_file_path(f, ".day", path);
    return write_partial(partial, text, (uint64_t)(at - text)) && move_partial(partial, path);
}

/* ---- what is there */

static bool is_dump_earlier(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static bool dump_is_of_day(const struct stat *is, const struct dump_day *d)
{
    return strobe_dump_day_of((uint64_t)is->st_mtim.tv_sec * 1000000000) == d->day;
}

/* Adds up the dumps in the folder. The oldest is not `spared`. Dumps of this day raise the numbers of the day to at
 * least theirs. */
static void add_up_dumps(const struct strobe_dump_folder *f, uint32_t spared, struct dump_sums *sums,
                         struct dump_day *day)
{
    struct dump_day there = {0};
    *sums = (struct dump_sums){.oldest = STROBE_DUMP_SLOTS};
    for (uint32_t slot = 0; slot < STROBE_DUMP_SLOTS; slot++) {
        char path[STROBE_DUMP_PATH_BYTES];
        struct stat is;
        strobe_dump_path(f, slot, path);
        sums->taken[slot] = lstat(path, &is) == 0;
        if (!sums->taken[slot] || !S_ISREG(is.st_mode))
            continue;
        bool none = sums->oldest == STROBE_DUMP_SLOTS;
        if (slot != spared && (none || is_dump_earlier(is.st_mtim, sums->oldest_time))) {
            sums->oldest = slot;
            sums->oldest_time = is.st_mtim;
        }
        sums->dumps++;
        sums->bytes += (uint64_t)is.st_size;
        there.dumps += dump_is_of_day(&is, day);
        there.bytes += dump_is_of_day(&is, day) ? (uint64_t)is.st_size : 0;
    }
    day->dumps = day->dumps > there.dumps ? day->dumps : there.dumps;
    day->bytes = day->bytes > there.bytes ? day->bytes : there.bytes;
}

/* Deletes the oldest dumps, but not `spared`, until the rest is within the limits. Returns false when one cannot be
 * deleted. */
static bool delete_oldest_dumps(const struct strobe_dump_folder *f, uint32_t spared)
{
    struct dump_day unused = {0};
    struct dump_sums sums;
    for (add_up_dumps(f, spared, &sums, &unused); sums.dumps > f->dumps || sums.bytes > f->bytes;
         add_up_dumps(f, spared, &sums, &unused)) {
        char path[STROBE_DUMP_PATH_BYTES];
        if (sums.oldest == STROBE_DUMP_SLOTS)
            return true;
        strobe_dump_path(f, sums.oldest, path);
        if (unlink(path) != 0 && errno != ENOENT)
            return false;
    }
    return true;
}

uint64_t strobe_dump_bytes_of_day(const struct strobe_dump_folder *f, uint64_t realtime_ns)
{
    struct dump_day day = read_dump_day(f, strobe_dump_day_of(realtime_ns));
    struct dump_sums unused;
    add_up_dumps(f, STROBE_DUMP_SLOTS, &unused, &day);
    return day.bytes;
}

/* ---- limits */

static bool has_disk_space(const struct strobe_dump_folder *f, uint64_t count)
{
    struct statvfs disk;
    if (statvfs(f->path, &disk) != 0)
        return true; /* the writes will say why */
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return free_bytes >= count && free_bytes - count >= f->free_bytes;
}

/* Returns NULL, or the limit that refuses a dump of `count` bytes. */
static const char *find_limit_of_dump(const struct strobe_dump_folder *f, uint64_t count)
{
    if (count > f->dump_bytes)
        return "the dump is larger than dump-bytes";
    if (count > f->bytes)
        return "the dump is larger than bytes";
    return has_disk_space(f, count) ? NULL : "the disk would have less than free-bytes";
}

static const char *find_limit_of_day(const struct strobe_dump_folder *f, const struct dump_day *d, uint64_t count)
{
    if (d->dumps >= f->dumps_a_day)
        return "dumps-a-day is reached";
    return d->bytes + count > f->bytes_a_day ? "bytes-a-day would be exceeded" : NULL;
}

/* ---- writing */

static bool find_free_slot(const struct dump_sums *sums, uint32_t *slot)
{
    for (*slot = 0; *slot < STROBE_DUMP_SLOTS; ++*slot)
        if (!sums->taken[*slot])
            return true;
    return false;
}

/* Writes a dump and names it. On failure it leaves no file, and errno has the reason. */
static bool write_and_name(const struct strobe_dump_folder *f, const void *bytes, uint64_t count, const char *path,
                           const struct dump_day *day)
{
    char partial[STROBE_DUMP_PATH_BYTES];
    dump_file_path(f, ".partial", partial);
    if (!write_partial(partial, bytes, count))
        return false;
    if (write_dump_day(f, day))
        return move_partial(partial, path);
    int saved = errno;
    unlink(partial);
    errno = saved;
    return false;
}

static enum strobe_status write_locked(const struct strobe_dump_folder *f, uint64_t realtime_ns, const void *bytes,
                                       uint64_t count, uint32_t *slot, struct strobe_error *error)
{
    char path[STROBE_DUMP_PATH_BYTES];
    struct dump_day day = read_dump_day(f, strobe_dump_day_of(realtime_ns));
    struct dump_sums sums;
    add_up_dumps(f, STROBE_DUMP_SLOTS, &sums, &day);
    const char *limit = find_limit_of_day(f, &day, count);
    if (limit)
        return fail_dump(STROBE_FULL, error, f->path, limit);
    if (!find_free_slot(&sums, slot))
        return fail_dump(STROBE_FULL, error, f->path, "no name of a dump is free");
    day.dumps++;
    day.bytes += count;
    strobe_dump_path(f, *slot, path);
    if (!write_and_name(f, bytes, count, path, &day))
        return fail_dump(STROBE_IO, error, f->path, describe_dump_failure(errno));
    if (delete_oldest_dumps(f, *slot))
        return STROBE_OK;
    int saved = errno;
    unlink(path);
    return fail_dump(STROBE_IO, error, f->path, describe_dump_failure(saved));
}

static enum strobe_status fail_to_lock(const struct strobe_dump_folder *f, struct strobe_error *error)
{
    if (errno == EWOULDBLOCK)
        return fail_dump(STROBE_WOULD_BLOCK, error, f->path, "another process is writing a dump");
    return fail_dump(STROBE_IO, error, f->path, describe_dump_failure(errno));
}

/* Locks the folder for a dump of `count` bytes. Returns the descriptor of the lock, or -1 and the reason in *status. */
static int lock_for_dump(const struct strobe_dump_folder *f, uint64_t count, enum strobe_status *status,
                         struct strobe_error *error)
{
    const char *limit = find_limit_of_dump(f, count);
    int lock = limit ? -1 : lock_dump_folder(f);
    if (limit)
        *status = fail_dump(STROBE_FULL, error, f->path, limit);
    else if (lock < 0)
        *status = fail_to_lock(f, error);
    return lock;
}

enum strobe_status strobe_dump_write(const struct strobe_dump_folder *f, uint64_t realtime_ns, const void *bytes,
                                     uint64_t count, uint32_t *slot, struct strobe_error *error)
{
    enum strobe_status status;
    int lock = lock_for_dump(f, count, &status, error);
    if (lock < 0)
        return status;
    status = write_locked(f, realtime_ns, bytes, count, slot, error);
    close(lock);
    return status;
}

static enum strobe_status rewrite_locked(const struct strobe_dump_folder *f, uint32_t slot, uint64_t realtime_ns,
                                         const void *bytes, uint64_t count, struct strobe_error *error)
{
    char path[STROBE_DUMP_PATH_BYTES];
    struct dump_day day = read_dump_day(f, strobe_dump_day_of(realtime_ns));
    struct dump_sums sums;
    struct stat is;
    strobe_dump_path(f, slot, path);
    if (lstat(path, &is) != 0)
        return fail_dump(STROBE_NO_ENTRY, error, path, "is gone");
    uint64_t more = count > (uint64_t)is.st_size ? count - (uint64_t)is.st_size : 0;
    add_up_dumps(f, slot, &sums, &day);
    if (sums.bytes + more > f->bytes || day.bytes + more > f->bytes_a_day)
        return fail_dump(STROBE_FULL, error, f->path, "the complete dump exceeds bytes or bytes-a-day");
    day.bytes += more;
    if (!write_and_name(f, bytes, count, path, &day))
        return fail_dump(STROBE_IO, error, f->path, describe_dump_failure(errno));
    return STROBE_OK;
}

enum strobe_status strobe_dump_rewrite(const struct strobe_dump_folder *f, uint32_t slot, uint64_t realtime_ns,
                                       const void *bytes, uint64_t count, struct strobe_error *error)
{
    enum strobe_status status;
    int lock = lock_for_dump(f, count, &status, error);
    if (lock < 0)
        return status;
    status = rewrite_locked(f, slot, realtime_ns, bytes, count, error);
    close(lock);
    return status;
}

/* ---- start */

enum strobe_status strobe_dump_folder_open(const struct strobe_dump_folder *f, struct strobe_error *error)
{
    if (mkdir(f->path, 0700) != 0 && errno != EEXIST)
        return fail_dump(STROBE_IO, error, f->path, describe_dump_failure(errno));
    char path[STROBE_DUMP_PATH_BYTES];
    dump_file_path(f, ".lock", path);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_dump(STROBE_IO, error, f->path, describe_dump_failure(errno));
    close(fd);
    return STROBE_OK;
}
