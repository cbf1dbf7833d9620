/* Damaged litmus tests: with any bytes, reading ends in a test or in a line that states the error. A test that was
 * read can be explored; only a few executions are. The input is the file itself. */
#include "engine/base/error.h"
#include "sim/explore/litmus/litmus.h"

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

static void explore(struct explore_litmus *test)
{
    struct explore_options options;
    struct explore_outcomes found;
    explore_options_default(&options);
    options.executions_max = 10;
    options.steps_max = 40;
    options.all_failures = true;
    if (explore_litmus_run(test, &options, &found) == STROBE_OK)
        for (uint32_t i = 0; i < found.count; i++)
            must(found.outcome[i].text != NULL && found.outcome[i].executions > 0, "an outcome says what it is");
    explore_outcomes_free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct explore_litmus *test;
    struct strobe_error error = {""};
    char *exact = malloc(bytes ? bytes : 1); /* no byte behind it may be read */
    must(exact != NULL, "malloc");
    memcpy(exact, data, bytes);
    if (explore_litmus_parse(exact, bytes, "tests/fuzz/fuzz.litmus", &test, &error) == STROBE_OK) {
        must(explore_litmus_name(test)[0] != '\0' && !error.text[0], "a test has a name");
        explore(test);
        explore_litmus_free(test);
    } else {
        must(test == NULL && error.text[0] && !strchr(error.text, '\n'), "a failure says why in a line");
    }
    free(exact);
    return 0;
}
