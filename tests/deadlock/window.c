#include "tests/deadlock/window.h"
#include "engine/base/error.h"

#include "engine/backend/mach/mach.h"
#include "engine/trace/session/reader.h"
#include "sim/fake/mach/app.h"
#include "tests/deadlock/plants.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    WORKERS = 2,
    BLOCK_BYTES = 2000,
    NS_PER_MS = 1000000,
    HOLD_ROUNDS = 1000000,
    FREE_US = 100,
    SAMPLER_ALONE = (1u << STROBE_MACH_USES) - 1
};

static struct fake_mach_app *app;
static _Atomic int over;

/* Allocates blocks that are too large for a thread's private cache of the heap. */
static void *allocate(void *unused)
{
    prctl(PR_SET_NAME, "worker");
    while (!over)
        app->free(app->malloc(BLOCK_BYTES));
    return unused;
}

/* Holds the mutex of the plant pthread_mutex_lock nine tenths of the time. */
static void *hold_mutex(void *unused)
{
    prctl(PR_SET_NAME, "worker");
    while (!over) {
        planted_mutex_hold();
        for (volatile int i = 0; i < HOLD_ROUNDS; i++)
            continue;
        planted_mutex_free();
        app->usleep(FREE_US);
    }
    return unused;
}

static bool begin(const char *path)
{
    struct strobe_error error;
    struct strobe_config config;
    struct strobe_session session;
    strobe_config_default(&config);
    config.async_interval_ns = NS_PER_MS;
    config.threads_max = 16;
    config.ring_slots = config.stack_nodes = 1 << 12;
    if (strobe_session_create(path, &config, "deadlock", 1, &session) != STROBE_OK)
        return false;
    strobe_session_unmap(&session);
    close(session.fd);
    const struct strobe_mach_options options = {.session_path = path, .without = SAMPLER_ALONE};
    if (strobe_mach_start(&options, NULL, &error) == STROBE_OK)
        return true;
    fprintf(stderr, "%s\n", error.text);
    return false;
}

static bool in_order(const char *path)
{
    struct strobe_error error;
    struct strobe_reader *r;
    if (strobe_reader_open(path, &r, &error) != STROBE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return false;
    }
    bool fine = r->closed && r->suspends && r->suspends == r->resumes && strobe_reader_check(r, &error);
    struct strobe_stop_times stops = strobe_stops_read(&r->session.header->stops);
    printf("%llu stops, the longest of %llu us\n", (unsigned long long)r->suspends,
           (unsigned long long)strobe_reader_span_ns(r, stops.longest) / 1000);
    strobe_reader_close(r);
    return fine;
}

int deadlock_main(int argc, char **argv)
{
    pthread_t workers[WORKERS];
    bool holds = getenv("DEADLOCK_HOLD");
    int count = holds ? 1 : WORKERS;
    if (argc != 3)
        return 2;
    app = fake_mach_app();
    planted_choose();
    if (!begin(argv[1]))
        return 2;
    for (int i = 0; i < count; i++)
        if (app->pthread_create(&workers[i], NULL, holds ? hold_mutex : allocate, NULL) != 0)
            return 2;
    app->usleep((useconds_t)strtoul(argv[2], NULL, 10) * 1000);
    over = 1;
    for (int i = 0; i < count; i++)
        app->pthread_join(workers[i], NULL);
    strobe_mach_stop();
    return in_order(argv[1]) ? 0 : 1;
}
