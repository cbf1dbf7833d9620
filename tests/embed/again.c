/* Captures itself COUNT times, one capture after another, while threads allocate, lock and sleep. Checks that captures
 * do not make the process grow, and that each has the threads that have run since before it.
 *
 *   again SESSION COUNT */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strobe/capture.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, SETTLED = 10, CAPTURE_US = 2000, LAST_US = 300000, GROWTH_KB = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int faults;

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    faults = 1;
    printf("does not hold: %s\n", what);
}

/* The library and the program call this function instead of the C library's. A descriptor that is closed twice may be
 * another thread's the second time. */
int close(int fd)
{
    long r = syscall(SYS_close, fd);
    expect(r == 0 || errno != EBADF, "a descriptor is closed once");
    return (int)r;
}

static void *work(void *p)
{
    for (;;) {
        char *memory = malloc(100);
        pthread_mutex_lock(&lock);
        for (volatile int i = 0; i < 20000; i++)
            continue;
        pthread_mutex_unlock(&lock);
        free(memory);
        usleep(100);
    }
    return p;
}

/* Returns a number of /proc/self/status. */
static long read_status(const char *name)
{
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)))
            value = strtol(line + strlen(name) + 1, NULL, 10);
    if (f)
        fclose(f);
    return value;
}

static int count_handlers(void)
{
    struct sigaction now;
    int count = 0;
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        count += sigaction(s, NULL, &now) == 0 && now.sa_handler != SIG_DFL;
    return count;
}

static uint32_t capture_once(const char *path, unsigned us)
{
    struct strobe_error error;
    struct strobe_capture_status status;
    if (strobe_start(&(struct strobe_capture_options){.session_path = path, .replace = 1, .records_max = 4096},
                     &error) != STROBE_OK) {
        printf("%s\n", error.text);
        exit(1);
    }
    usleep(us);
    strobe_begin("a section");
    strobe_end();
    strobe_get_status(&status);
    expect(status.annotations == 2, "a capture has the annotations made in it, and no others");
    expect(strobe_stop() == STROBE_OK, "each capture ends, and its session is closed");
    return status.threads;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    long kb = 0, resident = 0, descriptors = 0, count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, NULL);
    for (long i = 0; i < count; i++) {
        uint32_t threads = capture_once(argv[1], i == count - 1 ? LAST_US : CAPTURE_US);
        expect(i < count - 1 || threads == THREADS + 1, "the last capture has each thread once");
        expect(read_status("Threads:") == THREADS + 1, "a capture leaves no thread");
        expect(count_handlers() == 0, "a capture leaves no handler of a signal");
        if (i != SETTLED)
            continue;
        kb = read_status("VmSize:");
        resident = read_status("VmRSS:");
        descriptors = dup(0);
        close((int)descriptors);
    }
    expect(read_status("VmSize:") <= kb + GROWTH_KB, "captures take no address space");
    expect(read_status("VmRSS:") <= resident + GROWTH_KB, "captures take no memory");
    expect(dup(0) == descriptors, "captures take no descriptor");
    return faults;
}
