#include "engine/store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef __APPLE__

/* Returns 0 or a value of errno. Darwin's F_PREALLOCATE reserves blocks behind the end of the file and does not change
 * the file's length, so ftruncate follows. */
static int reserve_blocks(int fd, uint64_t bytes)
{
    fstore_t blocks = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_length = (off_t)bytes};
    if (fcntl(fd, F_PREALLOCATE, &blocks) != 0)
        return errno == ENOTSUP ? EOPNOTSUPP : errno;
    return ftruncate(fd, (off_t)bytes) ? errno : 0;
}

#else

static int reserve_blocks(int fd, uint64_t bytes)
{
    return posix_fallocate(fd, 0, (off_t)bytes);
}

#endif

enum strobe_status strobe_reserve(int fd, uint64_t bytes)
{
    int error;
    do
        error = reserve_blocks(fd, bytes);
    while (error == EINTR);
    if (error == EOPNOTSUPP || error == EINVAL || error == ENOSYS)
        error = ftruncate(fd, (off_t)bytes) ? errno : 0;
    errno = error;
    return error ? STROBE_IO : STROBE_OK;
}
