/* Findings under faults: whichever allocation fails, the search reports it, or its table, its JSON and its marks in the
 * trace are complete. */
#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "engine/watch/findings_marks.h"
#include "engine/watch/watch_timeline.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char events[] = "strobe-watch 1 due refresh=60\n"
                             "1 process 7 my app\n"
                             "2 app\n"
                             "10 component 159 a.LaunchActivityItem\n"
                             "20 created a.Main\n"
                             "30 focused a.Main\n"
                             "100 begin 90 first\n"
                             "110 call slow\n"
                             "120 sample main;slow\n"
                             "6900 return\n"
                             "7000 end\n"
                             "7001 frame 7000 0 0 0 0.5\n"
                             "7100 frame 7001 0 0 0 90\n"
                             "7200 signal 3 1000\n"
                             "7300 not-responding 7\n"
                             "7400 idle a.Idler\n"
                             "9900 idle-end\n"
                             "9950 nice 10\n"
                             "9960 threads\n"
                             "\"main\" prio=5 tid=1 Blocked\n"
                             "  - waiting to lock <0x01> (a X) held by thread 2\n"
                             "\n"
                             "\"other\" prio=5 tid=2 Blocked\n"
                             "  - waiting to lock <0x02> (a X) held by thread 1\n"
                             ".\n";

static struct strobe_findings_options options;

static enum strobe_status print(const struct strobe_findings *f)
{
    struct strobe_findings_marks marks;
    FILE *out = fopen(temp_dir_path("out"), "w");
    assert_non_null(out);
    strobe_findings_print(f, "source", 100, out);
    strobe_findings_print_json(f, "source", out);
    enum strobe_status status = strobe_findings_marks(f, &marks);
    for (size_t i = 0; status == STROBE_OK && i < marks.count; i++)
        fprintf(out, "%u %s\n", marks.marks[i].track, marks.marks[i].name);
    strobe_findings_marks_free(&marks);
    fclose(out);
    if (status != STROBE_OK)
        unlink(temp_dir_path("out"));
    return status;
}

static enum strobe_status find_in_text(struct strobe_error *error)
{
    char text[sizeof events];
    struct strobe_findings *f;
    memcpy(text, events, sizeof events);
    enum strobe_status status = strobe_findings_of_text(text, &options, &f, error);
    if (status == STROBE_OK)
        status = print(f);
    strobe_findings_close(f);
    return status;
}

static enum strobe_status find_in_session(struct strobe_error *error)
{
    struct strobe_findings *f;
    enum strobe_status status = strobe_findings_of_session(temp_dir_path("s.strobe"), &options, &f, error);
    if (status == STROBE_OK)
        status = print(f);
    strobe_findings_close(f);
    return status;
}

/* As `strobe convert --findings` does. */
static enum strobe_status convert_with_findings(enum strobe_format format, struct strobe_error *error)
{
    struct strobe_convert_options to = {.format = format};
    struct strobe_findings_marks marks;
    struct strobe_findings *f;
    enum strobe_status status = strobe_findings_of_session(temp_dir_path("s.strobe"), &options, &f, error);
    if (status != STROBE_OK)
        return status;
    status = strobe_findings_marks(f, &marks);
    to.timeline.marks = marks.marks;
    to.timeline.mark_count = marks.count;
    if (status == STROBE_OK)
        status = strobe_convert(temp_dir_path("s.strobe"), temp_dir_path("out"), &to, NULL, error);
    strobe_findings_marks_free(&marks);
    strobe_findings_close(f);
    return status;
}

static enum strobe_status perfetto_with_findings(struct strobe_error *error)
{
    return convert_with_findings(STROBE_FORMAT_PERFETTO, error);
}

static enum strobe_status chrome_with_findings(struct strobe_error *error)
{
    return convert_with_findings(STROBE_FORMAT_CHROME, error);
}

static void a_search_for_problems_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"text", "alloc", find_in_text, "out"},
                                          {"session", "alloc", find_in_session, "out"},
                                          {"perfetto", "alloc", perfetto_with_findings, "out"},
                                          {"chrome", "alloc", chrome_with_findings, "out"}};
    strobe_watch_defaults(&options.watch);
    options.frames = "void app.Main.run()";
    sweep_write_session("s.strobe");
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_for_problems_meets_each_fault),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
