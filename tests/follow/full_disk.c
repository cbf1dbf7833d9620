/* Takes all free room from the tmpfs that is mounted at FOLDER; needs root.
 *
 *   full_disk FOLDER           then makes more events than fit into the first part of a session
 *   full_disk FOLDER COMMAND   then runs COMMAND by a shell */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/vfs.h>

enum { THREADS = 40, WAITS = 150, DEPTHS = 40 };

/* Sets the limit of the tmpfs to its content, so that from one system call to the next it has no room. */
static int take_room(const char *folder)
{
    struct statfs fs;
    char option[64];
    if (statfs(folder, &fs) != 0)
        return 0;
    unsigned long long used = (fs.f_blocks - fs.f_bfree) * (unsigned long long)fs.f_bsize;
    snprintf(option, sizeof option, "size=%llu", used);
    return mount(NULL, folder, NULL, MS_REMOUNT, option) == 0 && statfs(folder, &fs) == 0 && fs.f_bfree == 0;
}

__attribute__((noinline)) static int wait_below(int depth)
{
    if (depth)
        return wait_below(depth - 1) + 1;
    return poll(NULL, 0, 1);
}

static void *wait_often(void *number)
{
    for (int i = 0; i < WAITS; i++)
        wait_below((i + *(int *)number) % DEPTHS);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int number[THREADS];
    if (argc < 2 || !take_room(argv[1]))
        return 1;
    if (argc > 2)
        return system(argv[2]) != 0;
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        if (pthread_create(&threads[i], NULL, wait_often, &number[i]))
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("full");
    return 3;
}
