/* Timelines of random sessions, compared with an oracle (timeline_oracle.h). tests/fuzz/core/fuzz_timeline.c feeds the
 * same oracle. */
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/timeline_oracle.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdlib.h>
#include <cmocka.h>

static uint64_t seed;

static uint32_t below(void *ctx, uint32_t limit)
{
    return strobe_trial_below(ctx, limit);
}

static void the_timeline_is_what_an_oracle_paints(void **state)
{
    const struct timeline_oracle_draw draw = {below, &seed};
    (void)state;
    for (uint32_t round = strobe_trial_rounds(150); round--;)
        timeline_oracle_check(&draw, temp_dir_path("session"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_timeline_is_what_an_oracle_paints),
    };
    seed = strobe_trial_seed("test_timeline_oracle");
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
