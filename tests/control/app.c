/* A program for tests of the control server: threads allocate, lock and sleep until the time is over.
 *
 *   app SECONDS                      without a capture of its own
 *   app SECONDS SESSION NAME         begins a capture with a server on the abstract Unix socket NAME
 *   app SECONDS SESSION :PORT        the same by TCP; PORT may be `any`
 *   app SECONDS SESSION NAME fork    a forked child then outlives the program by the same time
 *
 * Prints "ready" once it works, and what strobe_start says. */
#include "engine/include/strobe/capture.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work_for(int rounds)
{
    for (volatile int i = 0; i < rounds; i++)
        continue;
}

static void *work(void *p)
{
    for (;;) {
        char *memory = malloc(100);
        pthread_mutex_lock(&lock);
        work_for(20000);
        pthread_mutex_unlock(&lock);
        free(memory);
        usleep(200);
    }
    return p;
}

/* The functions of the library are weak, so that a program without the library can be built from this file. */
#pragma weak strobe_start

static int start(const char *session, const char *where)
{
    struct strobe_error error = {""};
    struct strobe_capture_options options = {.session_path = session, .replace = 1};
    if (where[0] == ':')
        options.control_port = strcmp(where, ":any") ? atoi(where + 1) : -1;
    else
        options.control = where;
    if (strobe_start(&options, &error) == STROBE_OK)
        return 1;
    puts(error.text);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    sigset_t end;
    unsigned seconds = (unsigned)atoi(argv[1]);
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    if (argc > 3) /* it ends by a return from main */
        pthread_sigmask(SIG_BLOCK, &end, NULL);
    if (argc > 3 && !start(argv[2], argv[3]))
        return 1;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            return 2;
    if (argc > 4 && fork() == 0) {
        sleep(2 * seconds);
        return 0;
    }
    puts("ready");
    fflush(stdout);
    sigtimedwait(&end, NULL, &(struct timespec){.tv_sec = seconds});
    return 0;
}
