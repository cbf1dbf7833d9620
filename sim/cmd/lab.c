#include "sim/cmd/lab.h"
#include "engine/base/error.h"

#include "engine/cmd/cmd.h"
#include "engine/cmd/outputs.h"
#include "engine/util/array.h"
#include "engine/util/cursor.h"
#include "sim/score/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number at *text, which is moved behind it. */
static bool lab_parse_number(const char **text, uint64_t *out)
{
    struct strobe_cursor c = strobe_cursor(*text, strlen(*text));
    bool any = strobe_cursor_take_number(&c, UINT64_MAX, out);
    *text = c.at;
    return any;
}

bool strobe_parse_seeds(const char *text, struct strobe_seeds *out)
{
    struct strobe_seeds s;
    if (!lab_parse_number(&text, &s.first))
        return false;
    s.last = s.first;
    if (!strncmp(text, "..", 2)) {
        text += 2;
        if (!lab_parse_number(&text, &s.last) || s.last < s.first || s.last - s.first >= (uint64_t)1 << 40)
            return false;
    }
    if (*text)
        return false;
    *out = s;
    return true;
}

bool strobe_parse_schedule(const char *text, enum sim_schedule *out)
{
    bool fair = !strcmp(text, "fair");
    if (!fair && strcmp(text, "adversarial") != 0)
        return false;
    *out = fair ? SIM_FAIR : SIM_ADVERSARIAL;
    return true;
}

bool strobe_is_policy(const char *name)
{
    for (const char *const *p = sim_policy_names; *p; p++)
        if (!strcmp(*p, name))
            return true;
    for (const char *const *p = sim_policy_more; *p; p++)
        if (!strcmp(*p, name))
            return true;
    return false;
}

const char *strobe_policy_list(void)
{
    static char list[256];
    size_t used = 0;
    for (const char *const *p = sim_policy_names; *p && used < sizeof list; p++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", p == sim_policy_names ? "" : ", ", *p);
    for (const char *const *p = sim_policy_more; *p && used < sizeof list; p++)
        used += (size_t)snprintf(list + used, sizeof list - used, ", %s", *p);
    return list;
}

struct sim_scenario *strobe_read_scenario(const char *path)
{
    struct strobe_error error = {""};
    struct sim_scenario *s;
    enum strobe_status status = sim_scenario_read(path, &s, &error);
    if (status == STROBE_OK)
        return s;
    if (error.text[0])
        strobe_complain("%s", error.text);
    else
        strobe_complain("%s: %s", path, strobe_status_text(status));
    return NULL;
}

int strobe_read_costs(const char *path, struct sim_costs *out)
{
    struct strobe_error error = {""};
    if (sim_costs_read(path, out, &error) == STROBE_OK)
        return 0;
    return strobe_complain("%s", error.text);
}

int strobe_results_open(struct strobe_results *r)
{
    *r = (struct strobe_results){.lines = tmpfile()};
    return r->lines ? 0 : strobe_complain("cannot make a temporary file: %s", strerror(errno));
}

static void results_append_line(struct strobe_results *r, const char *line)
{
    struct strobe_error error;
    if (!strobe_array_reserve(&r->list, &r->room, r->count + 1)) {
        r->failed = true;
        return;
    }
    if (sim_result_read_line(line, &r->list[r->count], &error) == STROBE_OK)
        r->count++;
    else
        r->failed = true;
}

void strobe_results_add(struct strobe_results *r, const char *line, bool kept)
{
    if (fprintf(r->lines, "%s\n", line) < 0)
        r->failed = true;
    if (kept)
        results_append_line(r, line);
}

static void copy_lines(void *ctx, FILE *out)
{
    char block[65536];
    FILE *in = ctx;
    rewind(in);
    for (size_t n; (n = fread(block, 1, sizeof block, in)) > 0;)
        fwrite(block, 1, n, out);
}

int strobe_results_leave(struct strobe_results *r, const char *folder, bool replace)
{
    const char *path = strobe_path_in(folder, "results.jsonl");
    if (!path)
        return STROBE_EXIT_BAD;
    if (r->failed || fflush(r->lines) || ferror(r->lines))
        return strobe_complain("%s: no room for the results", path);
    int bad = strobe_write_file(path, replace, copy_lines, r->lines);
    return bad ? bad : strobe_leave_page(r->list, r->count, folder, replace);
}

void strobe_results_close(struct strobe_results *r)
{
    for (size_t i = 0; i < r->count; i++)
        sim_result_free(&r->list[i]);
    free(r->list);
    if (r->lines)
        fclose(r->lines);
    *r = (struct strobe_results){0};
}

int strobe_leave_page(const struct sim_result *results, size_t count, const char *folder, bool replace)
{
    const char *path = strobe_path_in(folder, "report.html");
    if (!path)
        return STROBE_EXIT_BAD;
    enum strobe_status status = sim_page_write(results, count, path, replace);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", path);
    return status == STROBE_OK ? 0 : strobe_complain("%s: cannot write: %s", path, strerror(errno));
}

int strobe_check_html(const char *path, bool replace)
{
    return replace || access(path, F_OK) != 0 ? 0 : strobe_complain("%s: exists already; --force overwrites it", path);
}

int strobe_leave_html(const char *path, bool replace,
                      enum strobe_status (*write)(void *ctx, struct strobe_outfile *out), void *ctx)
{
    struct strobe_outfile out;
    enum strobe_status status = strobe_outfile_open(&out, path, replace);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", path);
    if (status != STROBE_OK)
        return strobe_complain("%s: cannot write: %s", path, strerror(errno));
    enum strobe_status drawn = write(ctx, &out);
    status = strobe_outfile_finish(&out, drawn != STROBE_OK);
    if (drawn != STROBE_OK)
        return strobe_complain("%s: out of memory", path);
    return status == STROBE_OK ? 0 : strobe_complain("%s: cannot write: %s", path, strerror(errno));
}

int strobe_trial_complaint(enum strobe_status status, const char *why)
{
    if (status == STROBE_EXISTS)
        return strobe_complain("%s; --force overwrites it", why);
    return strobe_complain("%s", why[0] ? why : strobe_status_text(status));
}
