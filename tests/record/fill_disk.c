/* Fills the file system of the file it makes, then leaves much to record:  fill_disk FILE */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { THREADS = 20, WAITS = 40, REST_BYTES = 2 << 20 };

static void *wait_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < WAITS; i++)
        poll(NULL, 0, 1);
    return NULL;
}

/* Allocates all space except the last bytes, and writes these, because other processes may write meanwhile. */
static int fill(const char *path)
{
    static const char block[4096];
    struct statfs fs;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || fstatfs(fd, &fs) != 0)
        return 0;
    off_t most = (off_t)(fs.f_bavail * (unsigned long)fs.f_bsize) - REST_BYTES;
    if (most <= 0 || posix_fallocate(fd, 0, most) != 0 || lseek(fd, most, SEEK_SET) != most)
        return 0;
    while (write(fd, block, sizeof block) == (ssize_t)sizeof block)
        continue;
    return 1;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc != 2 || !fill(argv[1]))
        return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, wait_often, NULL))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("full");
    return 0;
}
