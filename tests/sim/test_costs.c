/* Cost tables: what is built in is what was measured; a table is read whole or refused with a line that says why. */
#include "sim/runtime/costs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char measured[] = "fixtures/costs/x86-64.json";

static char text[4096], path[64], why[256];

static int make_file(void **state)
{
    (void)state;
    strcpy(path, "/tmp/strobe-costs-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void load(void)
{
    FILE *f = fopen(measured, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
}

static enum strobe_status read_text(struct sim_costs *out)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    why[0] = '\0';
    return sim_costs_read(path, out, why, sizeof why);
}

/* Puts `with` in the place of the first `what`. */
static void change(const char *what, const char *with)
{
    char *at = strstr(text, what), rest[sizeof text];
    assert_non_null(at);
    strcpy(rest, at + strlen(what));
    strcpy(at, with);
    strcat(at, rest);
}

static void is_refused(void)
{
    struct sim_costs costs;
    assert_int_equal(read_text(&costs), STROBE_BAD_INPUT);
    assert_memory_equal(why, path, strlen(path));
    assert_null(strchr(why, '\n'));
}

static void what_is_built_in_is_what_was_measured(void **state)
{
    struct sim_costs costs;
    (void)state;
    assert_int_equal(sim_costs_read(measured, &costs, why, sizeof why), STROBE_OK);
    assert_memory_equal(&costs, &sim_costs_default, sizeof costs);
}

static void each_member_must_be_there_once(void **state)
{
    static const char *const members[] = {
        "hook", "clock", "thread_clock", "usage", "scope", "sample", "frame", "frame_known", "release", "look",
        "suspend", "suspend_target", "copy", "copy_kib", "resume", "unwind_frame", "probe",
        "probe_other", "mark", "call_record",
    };
    (void)state;
    assert_int_equal(sizeof members / sizeof *members, sizeof(struct sim_costs) / sizeof(double));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char key[64], other[64];
        snprintf(key, sizeof key, "\"%s\": ", members[i]);
        snprintf(other, sizeof other, "\"x%s\": ", members[i]);
        load();
        change(key, other);
        is_refused();
        load();
        snprintf(other, sizeof other, "\"%s\": 1, \"%s\": ", members[i], members[i]);
        change(key, other);
        is_refused();
    }
}

static void nothing_costs_less_than_nothing(void **state)
{
    (void)state;
    load();
    change("\"clock\": ", "\"clock\": -");
    is_refused();
}

static void a_table_ends_where_its_object_does(void **state)
{
    (void)state;
    load();
    change("}", "} {");
    is_refused();
    load();
    change("}", "");
    is_refused();
}

static void a_file_that_is_not_there_is_named(void **state)
{
    struct sim_costs costs;
    (void)state;
    assert_int_equal(sim_costs_read("no/such/table.json", &costs, why, sizeof why), STROBE_IO);
    assert_non_null(strstr(why, "no/such/table.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_in_is_what_was_measured),
        cmocka_unit_test(each_member_must_be_there_once),
        cmocka_unit_test(nothing_costs_less_than_nothing),
        cmocka_unit_test(a_table_ends_where_its_object_does),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
