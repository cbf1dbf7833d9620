/* Damaged scenarios: whatever the bytes of a scenario are, reading it ends in a scenario or in a line that says what is
 * wrong, never in a crash, a hang or a read out of bounds; and what was read prints as it reads. The input is the file
 * itself. */
#include "sim/app/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sim_scenario *s, *again;
    char why[256] = "", *text = malloc(bytes + 1);
    must(text != NULL, "malloc");
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (sim_scenario_parse(text, "tests/fuzz/fuzz.scn", &s, why, sizeof why) == STROBE_OK) {
        char *printed = sim_scenario_print(s), *printed_again;
        must(printed != NULL, "print");
        must(sim_scenario_parse(printed, "printed.scn", &again, why, sizeof why) == STROBE_OK, why);
        printed_again = sim_scenario_print(again);
        must(printed_again != NULL && !strcmp(printed, printed_again), "prints as it reads");
        free(printed);
        free(printed_again);
        sim_scenario_free(again);
        sim_scenario_free(s);
    } else {
        must(why[0] != 0 && !strchr(why, '\n'), "a failure says why in a line");
    }
    free(text);
    return 0;
}
