#include "engine/util/whole_file.h"

#include "engine/util/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 16 };

/* Returns 0 or the number of the error. */
static int read_to_end(int fd, size_t most, char **text, size_t *bytes)
{
    for (size_t room = 0;;) {
        if (!strobe_array_reserve(text, &room, *bytes + PIECE_BYTES))
            return ENOMEM;
        ssize_t n = read(fd, *text + *bytes, room - *bytes - 1);
        if (n < 0 && errno != EINTR)
            return errno;
        *bytes += n > 0 ? (size_t)n : 0;
        if (*bytes > most)
            return EFBIG;
        if (n == 0) {
            (*text)[*bytes] = 0;
            return 0;
        }
    }
}

static enum strobe_status read_descriptor(int fd, size_t most, char **text, size_t *bytes)
{
    *text = NULL;
    *bytes = 0;
    int error = read_to_end(fd, most, text, bytes);
    if (!error)
        return STROBE_OK;
    free(*text);
    *text = NULL;
    *bytes = 0;
    errno = error;
    return STROBE_IO;
}

static void close_keeping_errno(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
}

enum strobe_status strobe_whole_file_read(const char *path, size_t most, char **text, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *text = NULL;
    *bytes = 0;
    if (fd < 0)
        return STROBE_IO;
    enum strobe_status status = read_descriptor(fd, most, text, bytes);
    close_keeping_errno(fd);
    return status;
}

/* Reads what cannot be mapped. */
static enum strobe_status read_stream(int fd, struct strobe_whole_file *out)
{
    char *text;
    enum strobe_status status = read_descriptor(fd, SIZE_MAX, &text, &out->bytes);
    out->read = text;
    out->at = text ? text : "";
    return status;
}

enum strobe_status strobe_whole_file_open(const char *path, struct strobe_whole_file *out)
{
    struct stat is;
    *out = (struct strobe_whole_file){.at = ""};
    if (!strcmp(path, "-"))
        return read_stream(STDIN_FILENO, out);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return STROBE_IO;
    enum strobe_status status = STROBE_OK;
    void *map = MAP_FAILED;
    if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_size > 0)
        map = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
        out->at = out->mapped = map;
        out->bytes = (size_t)is.st_size;
        madvise(map, out->bytes, MADV_SEQUENTIAL);
    } else {
        status = read_stream(fd, out);
    }
    close_keeping_errno(fd);
    return status;
}

void strobe_whole_file_pass(struct strobe_whole_file *file, const char *at)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)(at - file->at) / page * page;
    if (bytes < file->passed) /* the file is read anew */
        file->passed = 0;
    if (file->mapped && bytes > file->passed)
        madvise((char *)file->mapped + file->passed, bytes - file->passed, MADV_DONTNEED);
    file->passed = bytes;
}

void strobe_whole_file_close(struct strobe_whole_file *file)
{
    if (file->mapped)
        munmap(file->mapped, file->bytes);
    free(file->read);
    *file = (struct strobe_whole_file){.at = ""};
}
