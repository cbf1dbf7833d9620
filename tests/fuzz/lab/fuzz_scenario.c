/* Damaged scenarios: with any bytes, reading ends in a scenario or in a line that states the error, without a crash,
 * a hang or a read out of bounds. A scenario that was read prints as text that reads back the same. The input is the
 * file itself. */
#include "engine/base/error.h"
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
    struct strobe_error error = {""};
    char *text = malloc(bytes + 1);
    must(text != NULL, "malloc");
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (sim_scenario_parse(text, "tests/fuzz/fuzz.scn", &s, &error) == STROBE_OK) {
        char *printed = sim_scenario_print(s), *printed_again;
        must(printed != NULL, "print");
        must(sim_scenario_parse(printed, "printed.scn", &again, &error) == STROBE_OK, error.text);
        printed_again = sim_scenario_print(again);
        must(printed_again != NULL && !strcmp(printed, printed_again), "prints as it reads");
        free(printed);
        free(printed_again);
        sim_scenario_free(again);
        sim_scenario_free(s);
    } else {
        must(error.text[0] != 0 && !strchr(error.text, '\n'), "a failure says why in a line");
    }
    free(text);
    return 0;
}
