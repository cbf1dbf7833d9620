/* A program for tests of the control server on the fake Mach: threads allocate, lock and sleep until the time is over.
 *
 *   mach_app SECONDS SESSION     begins a capture with a server on a free port
 *
 * Prints "ready" once it works, and what strobe_start says. SIGTERM ends it. */
#include "engine/base/error.h"
#include "engine/include/strobe/capture.h"
#include "sim/fake/mach/app.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t ends;

static void end(int number)
{
    (void)number;
    ends = 1;
}

static void *work(void *p)
{
    struct fake_mach_app *app = p;
    while (!ends) {
        void *memory = app->malloc(100);
        app->pthread_mutex_lock(&lock);
        for (volatile int i = 0; i < 20000; i++)
            continue;
        app->pthread_mutex_unlock(&lock);
        app->free(memory);
        app->usleep(200);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    struct strobe_error error = {""};
    if (argc < 3)
        return 2;
    struct fake_mach_app *app = fake_mach_app();
    struct strobe_capture_options options = {.session_path = argv[2], .replace = 1, .control_port = -1};
    signal(SIGTERM, end);
    if (strobe_start(&options, &error) != STROBE_OK) {
        puts(error.text);
        return 1;
    }
    for (int i = 0; i < THREADS; i++)
        if (app->pthread_create(&thread[i], NULL, work, app) != 0)
            return 2;
    puts("ready");
    fflush(stdout);
    for (time_t until = time(NULL) + atoi(argv[1]); !ends && time(NULL) < until;)
        app->usleep(10000);
    ends = 1;
    for (int i = 0; i < THREADS; i++)
        app->pthread_join(thread[i], NULL);
    strobe_stop();
    return 0;
}
