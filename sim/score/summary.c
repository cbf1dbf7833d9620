#include "sim/score/summary.h"

#include "engine/util/array.h"
#include "engine/util/json.h"
#include "sim/score/fields.h"
#include "sim/score/student.h"

#include <stdlib.h>
#include <string.h>

struct sim_summary_row {
    double value[SIM_FIELD_COUNT_ALL];
};

void sim_summary_open(struct sim_summary *s)
{
    *s = (struct sim_summary){0};
    sim_bias_open(&s->bias);
}

void sim_summary_close(struct sim_summary *s)
{
    free(s->scenario);
    free(s->policy);
    free(s->rows);
    sim_bias_close(&s->bias);
    sim_summary_open(s);
}

enum strobe_status sim_summary_add(struct sim_summary *s, const struct sim_result *result)
{
    if (!s->scenario)
        s->scenario = strdup(result->scenario);
    if (!s->policy)
        s->policy = strdup(result->policy);
    if (!s->scenario || !s->policy)
        return STROBE_IO;
    if (strcmp(s->scenario, result->scenario) || strcmp(s->policy, result->policy))
        return STROBE_BAD_INPUT;
    if (!strobe_array_reserve(&s->rows, &s->room, s->count + 1))
        return STROBE_IO;
    enum strobe_status status = sim_bias_add(&s->bias, result);
    for (size_t i = 0; status == STROBE_OK && i < SIM_FIELD_COUNT_ALL; i++)
        s->rows[s->count].value[i] = sim_field_value(&sim_fields[i], &result->score);
    s->count += status == STROBE_OK;
    return status;
}

static bool spread_of(const struct sim_summary *s, size_t field, struct sim_spread *out)
{
    double *values = malloc((s->count + 1) * sizeof *values);
    if (!values || !s->count) {
        free(values);
        return false;
    }
    for (size_t i = 0; i < s->count; i++)
        values[i] = s->rows[i].value[field];
    qsort(values, s->count, sizeof *values, sim_by_value);
    *out = (struct sim_spread){values[0], sim_quantile(values, s->count, 0.25), sim_quantile(values, s->count, 0.5),
                               sim_quantile(values, s->count, 0.75), values[s->count - 1]};
    free(values);
    return true;
}

bool sim_summary_spread(const struct sim_summary *s, const char *name, struct sim_spread *out)
{
    for (size_t i = 0; i < SIM_FIELD_COUNT_ALL; i++)
        if (!strcmp(sim_fields[i].name, name))
            return spread_of(s, i, out);
    return false;
}

/* ---- for people */

void sim_summary_print(const struct sim_summary *s, FILE *out)
{
    enum { METHODS_MOST = 10 };
    char text[5][SIM_FIELD_TEXT_BYTES];
    struct sim_spread v;
    fprintf(out, "%s, %s, %zu seed%s\n", s->scenario ? s->scenario : "-", s->policy ? s->policy : "-", s->count,
            s->count == 1 ? "" : "s");
    fprintf(out, "  %-22s %12s %12s %12s %12s %12s\n", "", "least", "quarter", "median", "3 quarters", "most");
    for (size_t i = 0; i < SIM_FIELD_HEADLINES && spread_of(s, i, &v); i++) {
        const enum sim_field_unit unit = sim_fields[i].unit;
        fprintf(out, "  %-22s %12s %12s %12s %12s %12s\n", sim_fields[i].name, sim_field_text(unit, v.least, text[0]),
                sim_field_text(unit, v.quarter, text[1]), sim_field_text(unit, v.median, text[2]),
                sim_field_text(unit, v.three_quarters, text[3]), sim_field_text(unit, v.most, text[4]));
    }
    const struct sim_bias_method *methods;
    struct sim_bias bias = s->bias;
    size_t count = s->count > 1 ? sim_bias_methods(&bias, &methods) : 0;
    if (count)
        fprintf(out, "\n  %-40s %10s %10s %10s %8s\n", "bias of method", "true self", "points", "+-", "seeds");
    for (size_t i = 0; i < count && i < METHODS_MOST; i++)
        fprintf(out, "  %-40s %8.2f %% %+10.3f %10.3f %8llu\n", methods[i].name, 100 * methods[i].true_self,
                100 * methods[i].mean, 100 * methods[i].half_width, (unsigned long long)methods[i].seeds);
}

/* Columns of the comparison table; together they fit a page. */
static const struct {
    const char *field, *title;
    int width;
} column[] = {
    {"agreement_resolved", "resolved", 9},
    {"agreement", "exact", 9},
    {"agreement_seen", "in view", 9},
    {"unseen", "unseen", 9},
    {"blocked_error", "blocked", 9},
    {"waker_recall", "wakers", 9},
    {"false_merges", "merges", 7},
    {"overhead", "overhead", 9},
    {"bytes_per_app_second", "per app s", 11},
    {"code_bytes", "code", 9},
    {"lost", "lost", 8},
};
enum { COLUMNS = sizeof column / sizeof column[0] };

static enum sim_field_unit summary_unit_of(const char *name)
{
    size_t i = 0;
    while (strcmp(sim_fields[i].name, name))
        i++;
    return sim_fields[i].unit;
}

/* Prints the medians, or as a second line the range of the middle half of the seeds. */
static void print_summary_line(const struct sim_summary *s, bool spread, FILE *out)
{
    char text[SIM_FIELD_TEXT_BYTES], cell[SIM_FIELD_TEXT_BYTES + 4];
    fprintf(out, "  %-14s", spread ? "" : s->policy);
    for (size_t i = 0; i < COLUMNS; i++) {
        struct sim_spread v = {0};
        sim_summary_spread(s, column[i].field, &v);
        sim_field_text(summary_unit_of(column[i].field), spread ? (v.three_quarters - v.quarter) / 2 : v.median, text);
        snprintf(cell, sizeof cell, spread ? "+-%s" : "%s", text);
        fprintf(out, "%*s", column[i].width, cell);
    }
    fputc('\n', out);
}

void sim_summary_print_row(const struct sim_summary *s, const struct sim_summary *before, FILE *out)
{
    if (!before || strcmp(s->scenario, before->scenario)) {
        fprintf(out, "%s%s\n  %-14s", before ? "\n" : "", s->scenario, "policy");
        for (size_t c = 0; c < COLUMNS; c++)
            fprintf(out, "%*s", column[c].width, column[c].title);
        fputc('\n', out);
    }
    print_summary_line(s, false, out);
    if (s->count > 1)
        print_summary_line(s, true, out);
}

static void print_spread(struct strobe_json *j, const char *name, const struct sim_spread *v)
{
    strobe_json_object(j, name);
    strobe_json_real(j, "least", v->least);
    strobe_json_real(j, "quarter", v->quarter);
    strobe_json_real(j, "median", v->median);
    strobe_json_real(j, "three_quarters", v->three_quarters);
    strobe_json_real(j, "most", v->most);
    strobe_json_object_end(j);
}

void sim_summary_print_json(const struct sim_summary *s, FILE *out)
{
    struct strobe_json j = {.out = out};
    struct sim_spread v;
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "scenario", s->scenario);
    strobe_json_text(&j, "policy", s->policy);
    strobe_json_uint(&j, "seeds", s->count);
    strobe_json_object(&j, "scores");
    for (size_t i = 0; i < SIM_FIELD_COUNT_ALL && spread_of(s, i, &v); i++)
        print_spread(&j, sim_fields[i].name, &v);
    strobe_json_object_end(&j);
    strobe_json_array(&j, "bias");
    const struct sim_bias_method *methods;
    struct sim_bias bias = s->bias;
    size_t count = sim_bias_methods(&bias, &methods);
    for (size_t i = 0; i < count; i++) {
        strobe_json_object(&j, NULL);
        strobe_json_text(&j, "method", methods[i].name);
        strobe_json_uint(&j, "seeds", methods[i].seeds);
        strobe_json_real(&j, "mean", methods[i].mean);
        strobe_json_real(&j, "half_width", methods[i].half_width);
        strobe_json_real(&j, "true_self", methods[i].true_self);
        strobe_json_object_end(&j);
    }
    strobe_json_array_end(&j);
    strobe_json_object_end(&j);
}
