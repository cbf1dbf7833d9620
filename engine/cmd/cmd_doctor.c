#include "engine/cmd/cmd.h"
#include "engine/cmd/doctor.h"

#include "engine/util/json.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char strobe_usage_doctor[] =
    "usage: strobe doctor [--json] [--flight FILE] [PROGRAM]\n"
    "\n"
    "Reports what this machine supports. With PROGRAM (a path, or a command in PATH), also\n"
    "reports whether the program can be recorded, which unwinder is used, and how many of\n"
    "its functions have names.\n"
    "\n"
    "  --flight FILE   also checks the configuration of a flight recorder, as an app has it\n"
    "  --json          one JSON object: \"ready\", and \"findings\", each with \"health\" (ok, note\n"
    "                  or missing), \"about\" and \"text\"\n"
    "\n"
    "Exit status: 0 when `strobe record` has what it needs, 1 when something is missing,\n"
    "2 bad use.\n";

enum { JSON = 256, FLIGHT };

void strobe_find(struct strobe_findings *f, enum strobe_health health, const char *about, const char *format, ...)
{
    if (f->count == STROBE_FINDINGS_MAX)
        return;
    struct strobe_finding *one = &f->list[f->count++];
    va_list args;
    va_start(args, format);
    vsnprintf(one->text, sizeof one->text, format, args);
    va_end(args);
    one->health = health;
    one->about = about;
}

static const char *const health_text[] = {"ok", "note", "missing"};

static int is_machine_ready(const struct strobe_findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].health == STROBE_HEALTH_MISSING)
            return 0;
    return 1;
}

static void doctor_print_json(const struct strobe_findings *f)
{
    struct strobe_json j = {.out = stdout};
    strobe_json_object(&j, NULL);
    strobe_json_bool(&j, "ready", is_machine_ready(f));
    strobe_json_array(&j, "findings");
    for (size_t i = 0; i < f->count; i++) {
        strobe_json_object(&j, NULL);
        strobe_json_text(&j, "health", health_text[f->list[i].health]);
        strobe_json_text(&j, "about", f->list[i].about);
        strobe_json_text(&j, "text", f->list[i].text);
        strobe_json_object_end(&j);
    }
    strobe_json_array_end(&j);
    strobe_json_object_end(&j);
}

/* Prints text at the given column, with line breaks at blanks to fit a terminal. */
static void print_wrapped(const char *text, int column)
{
    enum { WIDTH = 100 };
    int at = column;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (at > column && at + 1 + word > WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            putchar(' ');
            at++;
        }
        printf("%.*s", word, text);
        at += word;
        text += word + (text[word] == ' ');
    }
    putchar('\n');
}

static void print_table(const struct strobe_findings *f)
{
    for (size_t i = 0; i < f->count; i++) {
        printf("%-8s %-17s ", health_text[f->list[i].health], f->list[i].about);
        print_wrapped(f->list[i].text, 27);
    }
    printf("\n%s\n", is_machine_ready(f) ? "`strobe record` has what it needs."
                                         : "`strobe record` does not work here: see the lines `missing` above.");
}

int strobe_cmd_doctor(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, JSON},
                                            {"flight", required_argument, NULL, FLIGHT},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    static struct strobe_findings findings;
    const char *flight = NULL;
    int json = 0;
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        if (c == '?')
            return STROBE_EXIT_BAD;
        if (c == 'h')
            return strobe_print_usage(strobe_usage_doctor);
        if (c == FLIGHT)
            flight = optarg;
        else
            json = 1;
    }
    if (argc - optind > 1)
        return strobe_complain("doctor: one program at most, not %s too", argv[optind + 1]);
    strobe_find_machine(&findings);
    if (flight && strobe_find_flight(&findings, flight))
        return STROBE_EXIT_BAD;
    strobe_output_begin();
    if (optind < argc)
        strobe_find_program(&findings, argv[optind]);
    if (json)
        doctor_print_json(&findings);
    else
        print_table(&findings);
    return strobe_output_end(is_machine_ready(&findings) ? STROBE_EXIT_OK : STROBE_EXIT_CHECK);
}
