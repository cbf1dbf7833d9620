#include "sim/score/result.h"

#include "engine/util/json.h"
#include "sim/score/fields.h"

#include <stdlib.h>
#include <string.h>

static double result_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static bool take_methods(const struct sim_score *s, const struct sim_tracks *truth, struct sim_result *out)
{
    out->methods = calloc(s->method_count + 1, sizeof *out->methods);
    for (size_t i = 0; out->methods && i < s->method_count; i++) {
        const struct sim_method_score *m = &s->methods[i];
        struct sim_result_method *r = &out->methods[i];
        *r = (struct sim_result_method){.name = strdup(truth->names.texts[m->name]),
                                        .calls = m->calls,
                                        .true_self = result_share(m->true_self_ns, s->thread_ns),
                                        .claimed_self = result_share(m->claimed_self_ns, s->thread_ns),
                                        .true_self_ns = m->true_self_ns,
                                        .claimed_self_ns = m->claimed_self_ns,
                                        .true_total_ns = m->true_total_ns,
                                        .claimed_total_ns = m->claimed_total_ns};
        out->method_count++;
        if (!r->name)
            return false;
    }
    return out->methods != NULL;
}

static bool result_take_threads(const struct sim_score *s, const struct sim_tracks *truth, struct sim_result *out)
{
    out->threads = calloc(s->thread_count + 1, sizeof *out->threads);
    for (size_t i = 0; out->threads && i < s->thread_count; i++) {
        const struct sim_thread_score *t = &s->threads[i];
        struct sim_result_thread *r = &out->threads[i];
        *r = (struct sim_result_thread){.name = strdup(truth->tracks[t->track].name),
                                        .tid = truth->tracks[t->track].tid,
                                        .thread_ns = t->thread_ns,
                                        .running_ns = t->running_ns,
                                        .agreement = result_share(t->agree_ns, t->thread_ns),
                                        .agreement_resolved = result_share(t->resolved_ns, t->thread_ns),
                                        .agreement_running = result_share(t->running_agree_ns, t->running_ns)};
        out->thread_count++;
        if (!r->name)
            return false;
    }
    return out->threads != NULL;
}

enum strobe_status sim_result_of(const struct sim_score *score, const struct sim_tracks *truth, const char *scenario,
                                 const char *policy, uint64_t seed, struct sim_result *out)
{
    *out = (struct sim_result){
        .scenario = strdup(scenario), .policy = strdup(policy), .seed = seed, .score = *score, .violation = strdup("")};
    out->score.methods = NULL;
    out->score.threads = NULL;
    out->score.method_count = out->score.thread_count = 0;
    if (out->scenario && out->policy && out->violation && take_methods(score, truth, out) &&
        result_take_threads(score, truth, out))
        return STROBE_OK;
    sim_result_free(out);
    return STROBE_IO;
}

void sim_result_free(struct sim_result *r)
{
    for (size_t i = 0; i < r->method_count; i++)
        free(r->methods[i].name);
    for (size_t i = 0; i < r->thread_count; i++)
        free(r->threads[i].name);
    free(r->methods);
    free(r->threads);
    free(r->scenario);
    free(r->policy);
    free(r->violation);
    sim_found_free(r->found);
    *r = (struct sim_result){0};
}

bool sim_result_value(const struct sim_result *r, const char *name, double *out)
{
    for (size_t i = 0; i < SIM_FIELD_COUNT_ALL; i++) {
        if (strcmp(sim_fields[i].name, name))
            continue;
        *out = sim_field_value(&sim_fields[i], &r->score);
        return true;
    }
    return false;
}

static void print_methods(struct strobe_json *j, const struct sim_result *r, size_t most)
{
    strobe_json_array(j, "methods");
    for (size_t i = 0; i < r->method_count && i < most; i++) {
        const struct sim_result_method *m = &r->methods[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", m->name);
        strobe_json_uint(j, "calls", m->calls);
        strobe_json_uint(j, "true_self_ns", m->true_self_ns);
        strobe_json_uint(j, "claimed_self_ns", m->claimed_self_ns);
        strobe_json_uint(j, "true_total_ns", m->true_total_ns);
        strobe_json_uint(j, "claimed_total_ns", m->claimed_total_ns);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}

static void print_threads(struct strobe_json *j, const struct sim_result *r, size_t most)
{
    strobe_json_array(j, "threads");
    for (size_t i = 0; i < r->thread_count && i < most; i++) {
        const struct sim_result_thread *t = &r->threads[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", t->name);
        strobe_json_uint(j, "tid", t->tid);
        strobe_json_uint(j, "thread_ns", t->thread_ns);
        strobe_json_uint(j, "running_ns", t->running_ns);
        strobe_json_real(j, "agreement", t->agreement);
        strobe_json_real(j, "agreement_resolved", t->agreement_resolved);
        strobe_json_real(j, "agreement_running", t->agreement_running);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}

static void print_result_json(struct strobe_json j, const struct sim_result *r, size_t most)
{
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "scenario", r->scenario);
    strobe_json_text(&j, "policy", r->policy);
    strobe_json_uint(&j, "seed", r->seed);
    strobe_json_uint(&j, "interval_ns", r->interval_ns);
    strobe_json_text(&j, "violation", r->violation);
    for (size_t i = 0; i < SIM_FIELD_COUNT_ALL; i++) {
        const struct sim_field *f = &sim_fields[i];
        if (f->real)
            strobe_json_real(&j, f->name, sim_field_value(f, &r->score));
        else
            strobe_json_uint(&j, f->name, *(const uint64_t *)((const char *)&r->score + f->offset));
    }
    print_methods(&j, r, most);
    print_threads(&j, r, most);
    strobe_json_object_end(&j);
}

void sim_result_print_line(const struct sim_result *r, size_t most, FILE *out)
{
    print_result_json((struct strobe_json){.out = out, .one_line = 1}, r, most);
}

void sim_result_print_json(const struct sim_result *r, FILE *out)
{
    print_result_json((struct strobe_json){.out = out}, r, SIZE_MAX);
}

/* ---- for people */

static void print_scores(const struct sim_result *r, FILE *out)
{
    char text[SIM_FIELD_TEXT_BYTES];
    for (size_t i = 0; i < SIM_FIELD_HEADLINES; i++) {
        const struct sim_field *f = &sim_fields[i];
        fprintf(out, "  %-22s %12s%s", f->name, sim_field_text(f->unit, sim_field_value(f, &r->score), text),
                i % 2 && i + 1 < SIM_FIELD_HEADLINES ? "\n" : "    ");
    }
    fputc('\n', out);
}

void sim_result_print(const struct sim_result *r, FILE *out)
{
    enum { METHODS_MOST = 10 };
    char a[SIM_FIELD_TEXT_BYTES], b[SIM_FIELD_TEXT_BYTES];
    fprintf(out, "%s, %s, seed %llu%s%s\n", r->scenario, r->policy, (unsigned long long)r->seed,
            *r->violation ? ": " : "", r->violation);
    print_scores(r, out);
    fprintf(out, "\n  %-24s %8s %12s %10s %10s %10s\n", "thread", "tid", "lived", "agreement", "resolved", "running");
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct sim_result_thread *t = &r->threads[i];
        fprintf(out, "  %-24s %8llu %12s %8.2f %% %8.2f %% %8.2f %%\n", t->name, (unsigned long long)t->tid,
                sim_field_text(SIM_FIELD_NS, (double)t->thread_ns, a), 100 * t->agreement, 100 * t->agreement_resolved,
                100 * t->agreement_running);
    }
    fprintf(out, "\n  %-40s %10s %12s %12s %8s\n", "method", "calls", "true self", "claimed", "points");
    for (size_t i = 0; i < r->method_count && i < METHODS_MOST; i++) {
        const struct sim_result_method *m = &r->methods[i];
        fprintf(out, "  %-40s %10llu %12s %12s %+8.3f\n", m->name, (unsigned long long)m->calls,
                sim_field_text(SIM_FIELD_NS, (double)m->true_self_ns, a),
                sim_field_text(SIM_FIELD_NS, (double)m->claimed_self_ns, b), 100 * (m->claimed_self - m->true_self));
    }
    if (r->method_count > METHODS_MOST)
        fprintf(out, "  and %zu more\n", r->method_count - METHODS_MOST);
}
