/* Damaged captures: with any bytes, reading a Perfetto trace and learning a scenario from it ends in a scenario that
 * the parser accepts, or in one line that states the error. Input: the trace. */
#include "engine/base/error.h"
#include "sim/app/scenario.h"
#include "sim/learn/calls/capture.h"
#include "sim/learn/learn.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char path[64];
static int fd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fd = memfd_create("capture", 0);
    fuzz_require(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return 0;
}

static void check_line(const struct strobe_error *error)
{
    fuzz_require(error->text[0] && !strchr(error->text, '\n'));
}

/* The scenario reads back. A capture with too many objects for the language is refused by the parser, with a line. */
static void check_scenario(const char *text)
{
    struct strobe_error error = {""};
    struct sim_scenario *s = NULL;
    enum strobe_status status = sim_scenario_parse(text, "learnt", &s, &error);
    if (status != STROBE_OK)
        check_line(&error);
    sim_scenario_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sim_learn_options options = {.name = "fuzzed", .lines = bytes % 2 ? 40 : 0};
    struct strobe_error error = {""};
    struct sim_tracks capture;
    struct sim_learnt learnt = {0};
    fuzz_require(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
    enum strobe_status status = sim_learn_read(path, &capture, &error);
    if (status == STROBE_OK)
        status = sim_learn(&capture, 1, &options, &learnt, &error);
    if (status == STROBE_OK)
        check_scenario(learnt.text);
    else
        check_line(&error);
    sim_learnt_free(&learnt);
    sim_tracks_close(&capture);
    return 0;
}
