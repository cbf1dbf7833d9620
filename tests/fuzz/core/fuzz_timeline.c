/* Timelines of any records against the oracle of tests/unit/support/timeline_oracle.h: a session of one thread, with
 * samples of hooks and of the sampler, merged samples, calls and messages. The bytes are the numbers that the oracle
 * draws. */
#include "tests/fuzz/support/bytes.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/timeline_oracle.h"

#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char path[TEMPORARY_BYTES];

static uint32_t below(void *ctx, uint32_t limit)
{
    return fuzz_below(ctx, limit);
}

static void remove_session(void)
{
    unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* an assertion that fails outside of a test aborts */
    temporary_path(path, "strobe-fuzz-%d", (int)getpid());
    atexit(remove_session);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_bytes in = {data, bytes};
    const struct timeline_oracle_draw draw = {below, &in};
    timeline_oracle_check(&draw, path);
    return 0;
}
