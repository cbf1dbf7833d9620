/* The classic litmus tests of tests/explore/litmus. The head of each file lists its outcomes and the number of
 * executions of each. The explorer and the axioms both find exactly these. The axioms computed the lists; for the
 * outcome of the condition they agree with the sources that the heads name. */
#include "engine/base/error.h"
#include "tests/sim/support/litmus_axioms.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILES_MAX = 256, ROWS_MAX = 512 };

static const char folder[] = "tests/explore/litmus";

/* The table in a file's head: the number of executions with each outcome, by memory model. A race makes them void. */
struct table {
    uint32_t count;
    struct {
        char text[240];
        uint64_t executions[EXPLORE_MEMORIES];
    } row[ROWS_MAX];
    bool race[EXPLORE_MEMORIES], source;
};

static char names[FILES_MAX][64];
static uint32_t name_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int list_files(void **state)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    (void)state;
    while (d && (e = readdir(d)) != NULL && name_count < FILES_MAX)
        if (strlen(e->d_name) < sizeof names[0] && strstr(e->d_name, ".litmus"))
            strcpy(names[name_count++], e->d_name);
    if (d)
        closedir(d);
    qsort(names, name_count, sizeof names[0], by_name);
    return 0;
}

/* Parses a row such as "1 0 *  0:r0=1;". */
static bool read_row(struct table *t, char *line)
{
    char cell[EXPLORE_MEMORIES][24];
    int at = 0;
    if (sscanf(line, " %23s %23s %23s  %n", cell[0], cell[1], cell[2], &at) != 3 || at == 0)
        return false;
    for (int m = 0; m < EXPLORE_MEMORIES; m++) {
        char *end = cell[m];
        t->row[t->count].executions[m] = strtoull(cell[m], &end, 10);
        if (!strcmp(cell[m], "*"))
            t->race[m] = true;
        else if (*end || end == cell[m])
            return false;
    }
    char *close = strstr(line, " *)");
    if (close)
        *close = '\0';
    assert_true(t->count < ROWS_MAX && strlen(line + at) < sizeof t->row[0].text);
    strcpy(t->row[t->count++].text, line + at);
    return true;
}

static void read_table(const char *path, struct table *t)
{
    char line[512];
    FILE *f = fopen(path, "r");
    bool rows = false;
    assert_non_null(f);
    memset(t, 0, sizeof *t);
    while (fgets(line, sizeof line, f) && line[0] != '{') {
        line[strcspn(line, "\n")] = '\0';
        t->source |= strstr(line, "Source: ") != NULL;
        if (rows)
            rows = read_row(t, line);
        else
            rows = strstr(line, "executions under sc, tso, c11, and their outcome:") != NULL;
    }
    fclose(f);
}

static uint64_t stored(const struct table *t, enum explore_memory m, const char *text)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (!strcmp(t->row[i].text, text))
            return t->row[i].executions[m];
    return 0;
}

static uint64_t sum(const struct table *t, enum explore_memory m, uint32_t *outcomes)
{
    uint64_t all = 0;
    *outcomes = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        all += t->row[i].executions[m];
        *outcomes += t->row[i].executions[m] != 0;
    }
    return all;
}

static struct explore_litmus *read_test(const char *name, struct table *t)
{
    struct strobe_error error;
    char path[512];
    struct explore_litmus *test;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (explore_litmus_read(path, &test, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    read_table(path, t);
    if (!t->count || !t->source)
        fail_msg("%s: expected a table of outcomes and their source", path);
    return test;
}

static void explored_outcomes_are_those_stored(void **state)
{
    static struct table t;
    uint64_t executions = 0;
    (void)state;
    assert_true(name_count >= 100);
    for (uint32_t i = 0; i < name_count; i++) {
        struct explore_litmus *test = read_test(names[i], &t);
        for (enum explore_memory m = EXPLORE_SC; m < EXPLORE_MEMORIES; m++) {
            struct explore_options options;
            struct explore_outcomes found;
            uint32_t outcomes;
            explore_options_default(&options);
            options.memory = m;
            options.all_failures = true;
            assert_int_equal(explore_litmus_run(test, &options, &found), STROBE_OK);
            assert_true(found.result.complete);
            if (found.undefined != t.race[m])
                fail_msg("%s under %s: a race is %sexpected", names[i], explore_memory_name(m),
                         t.race[m] ? "" : "not ");
            if (!found.undefined) {
                uint64_t all = sum(&t, m, &outcomes);
                for (uint32_t k = 0; k < found.count; k++)
                    if (stored(&t, m, found.outcome[k].text) != found.outcome[k].executions)
                        fail_msg("%s under %s: %llu executions with %s, stored are %llu", names[i],
                                 explore_memory_name(m), (unsigned long long)found.outcome[k].executions,
                                 found.outcome[k].text, (unsigned long long)stored(&t, m, found.outcome[k].text));
                if (found.result.executions != all || found.count != outcomes)
                    fail_msg("%s under %s: %llu executions and %u outcomes, stored are %llu and %u", names[i],
                             explore_memory_name(m), (unsigned long long)found.result.executions, found.count,
                             (unsigned long long)all, outcomes);
            }
            executions += found.result.executions;
            explore_outcomes_free(&found);
        }
        explore_litmus_free(test);
    }
    print_message("%u tests in three models, %llu executions\n", name_count, (unsigned long long)executions);
}

/* Incomplete strategies find no other outcomes. With a bound that no schedule reaches, no outcome is missing. */
static void other_strategies_find_nothing_but_stored_outcomes(void **state)
{
    static const enum explore_strategy strategies[] = {EXPLORE_BOUNDED, EXPLORE_WALK, EXPLORE_PCT};
    static struct table t;
    (void)state;
    for (uint32_t i = 0; i < name_count * 9; i++) {
        struct explore_litmus *test = read_test(names[i / 9], &t);
        enum explore_memory m = (enum explore_memory)(i % 3);
        struct explore_options options;
        struct explore_outcomes found;
        uint32_t outcomes;
        explore_options_default(&options);
        options.memory = m;
        options.strategy = strategies[i / 3 % 3];
        options.preemptions = 100;
        options.depth = 3;
        options.seed = i;
        options.executions_max = options.strategy == EXPLORE_BOUNDED ? 0 : 20;
        options.all_failures = true;
        assert_int_equal(explore_litmus_run(test, &options, &found), STROBE_OK);
        sum(&t, m, &outcomes);
        for (uint32_t k = 0; k < found.count && !t.race[m]; k++)
            if (!stored(&t, m, found.outcome[k].text))
                fail_msg("%s under %s, %s: %s is not allowed", names[i / 9], explore_memory_name(m),
                         explore_strategy_name(options.strategy), found.outcome[k].text);
        if (options.strategy == EXPLORE_BOUNDED && !t.race[m] && found.count != outcomes)
            fail_msg("%s under %s: %u outcomes within any bound, stored are %u", names[i / 9], explore_memory_name(m),
                     found.count, outcomes);
        explore_outcomes_free(&found);
        explore_litmus_free(test);
    }
}

static void axioms_allow_the_outcomes_that_are_stored(void **state)
{
    static struct table t;
    static struct axioms_outcomes allowed;
    (void)state;
    for (uint32_t i = 0; i < name_count; i++) {
        struct explore_litmus *test = read_test(names[i], &t);
        struct axioms_program program;
        if (!axioms_of_litmus(test, &program))
            fail_msg("%s: not a program for the axioms", names[i]);
        for (enum explore_memory m = EXPLORE_SC; m < EXPLORE_MEMORIES; m++) {
            uint32_t outcomes;
            axioms_outcomes(test, &program, m, &allowed);
            assert_int_equal(allowed.race, t.race[m]);
            if (allowed.race)
                continue;
            assert_int_equal(allowed.executions, sum(&t, m, &outcomes));
            assert_int_equal(allowed.count, outcomes);
            for (uint32_t k = 0; k < allowed.count; k++)
                assert_int_equal(stored(&t, m, allowed.outcome[k].text), allowed.outcome[k].executions);
        }
        explore_litmus_free(test);
    }
}

/* A weaker model allows all outcomes of a stronger one, and in at least one test it allows more. */
static void weaker_models_allow_more(void **state)
{
    static struct table t;
    uint32_t more[EXPLORE_MEMORIES] = {0};
    (void)state;
    for (uint32_t i = 0; i < name_count; i++) {
        explore_litmus_free(read_test(names[i], &t));
        for (uint32_t k = 0; k < t.count; k++) {
            for (int m = 1; m < EXPLORE_MEMORIES; m++) {
                if (t.race[m] || t.race[m - 1])
                    continue;
                bool was = t.row[k].executions[m - 1] != 0, is = t.row[k].executions[m] != 0;
                if (was && !is)
                    fail_msg("%s: %s is allowed by %s and not by %s", names[i], t.row[k].text,
                             explore_memory_name((enum explore_memory)(m - 1)),
                             explore_memory_name((enum explore_memory)m));
                more[m] += is && !was;
            }
        }
    }
    assert_true(more[EXPLORE_TSO] > 10 && more[EXPLORE_C11] > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explored_outcomes_are_those_stored),
        cmocka_unit_test(other_strategies_find_nothing_but_stored_outcomes),
        cmocka_unit_test(axioms_allow_the_outcomes_that_are_stored),
        cmocka_unit_test(weaker_models_allow_more),
    };
    return cmocka_run_group_tests(tests, list_files, NULL);
}
