/* A program that records itself with libstrobe-capture, for counting instructions: sections, counters, status, pauses,
 * and locks and allocations whose hooks are the library's.
 *
 *     gate-embed embed
 *     gate-embed modes
 *
 * The interval between samples is an hour, so that no sample depends on the machine's clock. */
#include "bench/gate/modes.h"
#include "engine/base/hint.h"
#include "engine/include/strobe/capture.h"
#include "tests/support/temporary.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 2000, RECORDS = 1 << 15 };
#define HOUR_NS UINT64_C(3600000000000)

STROBE_NOINLINE void measured_embed(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void check(enum strobe_status status, const char *what)
{
    if (status != STROBE_OK) {
        fprintf(stderr, "gate-embed: %s\n", what);
        exit(1);
    }
}

void measured_embed(void)
{
    static const char *const names[] = {"decode", "layout", "draw", "upload"};
    struct strobe_capture_status status;
    for (int i = 0; i < ROUNDS; i++) {
        strobe_begin(names[i % 4]);
        pthread_mutex_lock(&lock);
        free(malloc((size_t)i + 1));
        pthread_mutex_unlock(&lock);
        strobe_counter("frames", i);
        strobe_end();
        if (i % 64)
            continue;
        strobe_get_status(&status);
        check(strobe_pause(), "strobe_pause");
        check(strobe_resume(), "strobe_resume");
    }
}

static void embed(void)
{
    char path[TEMPORARY_BYTES];
    struct strobe_error error = {""};
    int fd = mkstemp(temporary_path(path, "strobe-gate-XXXXXX"));
    if (fd < 0)
        abort();
    close(fd);
    const struct strobe_capture_options options = {
        .session_path = path, .replace = 1, .interval_ns = HOUR_NS, .records_max = RECORDS};
    enum strobe_status status = strobe_start(&options, &error);
    if (status == STROBE_OK)
        measured_embed();
    unlink(path);
    check(status, error.text);
    check(strobe_stop(), "strobe_stop");
}

int main(int argc, char **argv)
{
    static const struct gate_mode modes[] = {{"embed", embed}};
    return gate_run_mode(modes, sizeof modes / sizeof *modes, argc, argv);
}
