#include "engine/cmd/report_findings.h"
#include "engine/base/error.h"

#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HZ_MOST = 1000, SECONDS_MOST = 3600, TEXT_MOST = 64 << 20 };

void strobe_report_findings_defaults(struct strobe_findings_options *o)
{
    *o = (struct strobe_findings_options){0};
    strobe_watch_defaults(&o->watch);
}

int strobe_report_findings_option(struct strobe_findings_options *o, const char *command, const char *option,
                                  const char *value)
{
    const struct {
        const char *name;
        uint64_t *ns;
    } of[] = {
        {"evil-ms", &o->watch.evil_ns}, {"lag-ms", &o->watch.lag_ns},   {"anr-ms", &o->watch.anr_ns},
        {"cold-ms", &o->watch.cold_ns}, {"warm-ms", &o->watch.warm_ns}, {"block-ms", &o->watch.block_ns},
    };
    uint64_t n;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        if (strcmp(option, of[i].name) != 0)
            continue;
        if (!strobe_parse_number(value, SECONDS_MOST * 1000, &n) || !n)
            return strobe_complain("%s: --%s %s: expected a number from 1 to %d", command, option, value,
                                   SECONDS_MOST * 1000);
        *of[i].ns = n * 1000000;
        return 0;
    }
    if (!strcmp(option, "refresh")) {
        if (!strobe_parse_number(value, HZ_MOST, &n) || !n)
            return strobe_complain("%s: --refresh %s: expected a number from 1 to %d", command, value, HZ_MOST);
        o->refresh_hz = (uint32_t)n;
    } else if (!strcmp(option, "splash")) {
        o->watch.splash = value;
    } else if (!strcmp(option, "frames")) {
        if (!value[strspn(value, ";")])
            return strobe_complain("%s: --frames %s: expected names of methods, separated by ;", command, value);
        o->frames = value;
    } else {
        return -1;
    }
    return 0;
}

/* Reads a whole file, ended by NUL. Returns NULL after a complaint. */
static char *read_findings_text(const char *path)
{
    char *text;
    size_t bytes;
    if (strobe_whole_file_read(path, TEXT_MOST - 2, &text, &bytes) != STROBE_OK)
        strobe_complain("%s: %s", path, errno == EFBIG ? "too large for a thread dump" : strerror(errno));
    return text;
}

/* A thread dump begins with "----- pid N at ...", or with the header line of a thread: "NAME" prio=... */
bool strobe_is_findings_text(const char *path)
{
    static const char dump[] = "----- pid ", events[] = "strobe-watch ";
    char head[512];
    FILE *f = fopen(path, "rbe");
    size_t got = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f)
        fclose(f);
    head[got] = 0;
    const char *at = head + strspn(head, "\r\n");
    return !strncmp(head, events, sizeof events - 1) || !strncmp(at, dump, sizeof dump - 1) ||
           (*at == '"' && strstr(at, "\" ") && strstr(at, "prio="));
}

static enum strobe_status find_session_problems(const char *path, const struct strobe_findings_options *options,
                                                struct strobe_findings **out)
{
    struct strobe_error error = {""};
    enum strobe_status status;
    if (strobe_is_findings_text(path)) {
        char *text = read_findings_text(path);
        if (!text)
            return STROBE_BAD_INPUT;
        status = strobe_findings_of_text(text, options, out, &error);
        free(text);
    } else {
        status = strobe_findings_of_session(path, options, out, &error);
    }
    if (status != STROBE_OK)
        strobe_complain("%s: %s", path, error.text[0] ? error.text : strobe_status_text(status));
    return status;
}

int strobe_report_findings(const char *path, const struct strobe_findings_options *options, uint32_t width, int json)
{
    struct strobe_findings *f;
    if (find_session_problems(path, options, &f) != STROBE_OK)
        return STROBE_EXIT_BAD;
    strobe_output_begin();
    if (json)
        strobe_findings_print_json(f, path, stdout);
    else
        strobe_findings_print(f, path, width, stdout);
    strobe_findings_close(f);
    return strobe_output_end(STROBE_EXIT_OK);
}
