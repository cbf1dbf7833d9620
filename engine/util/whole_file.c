#include "engine/util/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum strobe_status read_all(int fd, struct strobe_whole_file *out)
{
    size_t room = 1 << 16;
    char *memory = malloc(room);
    for (ssize_t n; memory;) {
        if (out->bytes == room) {
            char *bigger = realloc(memory, room *= 2);
            if (!bigger)
                break;
            memory = bigger;
        }
        n = read(fd, memory + out->bytes, room - out->bytes);
        if (n > 0) {
            out->bytes += (size_t)n;
        } else if (n == 0) {
            out->at = out->read = memory;
            return STROBE_OK;
        } else if (errno != EINTR) {
            break;
        }
    }
    int error = memory ? errno : ENOMEM;
    free(memory);
    errno = error;
    return STROBE_IO;
}

enum strobe_status strobe_whole_file_open(const char *path, struct strobe_whole_file *out)
{
    struct stat is;
    *out = (struct strobe_whole_file){.at = ""};
    if (!strcmp(path, "-"))
        return read_all(STDIN_FILENO, out);
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
        status = read_all(fd, out);
    }
    int error = errno;
    close(fd);
    errno = error;
    return status;
}

void strobe_whole_file_close(struct strobe_whole_file *file)
{
    if (file->mapped)
        munmap(file->mapped, file->bytes);
    free(file->read);
    *file = (struct strobe_whole_file){.at = ""};
}
