#include "sim/real/witness_claims.h"

#include "sim/policy/matrix_claims.h"
#include "sim/real/witness/witness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A capture that is read. */
struct reading {
    const char *path;
    const struct sim_scenario *scenario;
    const struct sim_notes_head *head;
    struct sim_instrument probes;
    struct sim_tracks *out;
    char *why;
    size_t why_bytes;
};

static enum strobe_status fail(const struct reading *r, enum strobe_status status, const char *reason)
{
    snprintf(r->why, r->why_bytes, "%s: %s", r->path, reason);
    return status;
}

/* ---- matrix ---- */

static enum strobe_status read_matrix_entries(struct reading *r, FILE *in)
{
    struct sim_witness_matrix head;
    if (fread(&head, sizeof head, 1, in) != 1)
        return fail(r, STROBE_BAD_INPUT, "expected the head of a method log");
    uint64_t *entries = malloc((head.count + 1) * sizeof *entries);
    if (!entries)
        return fail(r, STROBE_IO, strerror(ENOMEM));
    enum strobe_status status = STROBE_BAD_INPUT;
    if (fread(entries, sizeof *entries, head.count, in) != head.count)
        fail(r, status, "expected as many entries as its head says");
    else
        status = sim_matrix_claims(&(struct sim_matrix_capture){.tid = head.tid, .name = head.name, .entries = entries,
                                                                .count = head.count, .lost = head.lost,
                                                                .origin_ns = r->head->begin_ns - head.base_ns,
                                                                .end_ns = r->head->end_ns - r->head->begin_ns},
                                   &r->probes, r->scenario, r->out);
    free(entries);
    return status == STROBE_IO ? fail(r, status, strerror(ENOMEM)) : status;
}

static enum strobe_status read_matrix(struct reading *r)
{
    FILE *in = fopen(r->path, "rb");
    if (!in)
        return fail(r, STROBE_IO, strerror(errno));
    enum strobe_status status = read_matrix_entries(r, in);
    fclose(in);
    return status;
}

/* ---- which of them ---- */

struct scheme {
    const char *policy;
    const struct sim_instrument_options *probes;
    bool main_only;
    enum strobe_status (*read)(struct reading *r);
};

static const struct scheme schemes[] = {
    {"matrix", &sim_matrix_probes, true, read_matrix},
};

static const struct scheme *scheme_of(const char *policy)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (!strcmp(schemes[i].policy, policy))
            return &schemes[i];
    return NULL;
}

bool sim_real_is_witness(const char *policy)
{
    return scheme_of(policy) != NULL;
}

enum strobe_status sim_real_witness_claims(const char *policy, const char *path, const struct sim_scenario *scenario,
                                           const struct sim_notes_head *head, struct sim_tracks *truth,
                                           struct sim_tracks *out, struct sim_view *view, char *why, size_t why_bytes)
{
    const struct scheme *s = scheme_of(policy);
    struct reading r = {.path = path, .scenario = scenario, .head = head, .out = out, .why = why,
                        .why_bytes = why_bytes};
    enum strobe_status status = STROBE_OK;
    if (!sim_instrument_open(&r.probes, scenario, s->probes) ||
        !sim_instrument_view(&r.probes, scenario, truth, s->main_only, view))
        status = fail(&r, STROBE_IO, strerror(ENOMEM));
    if (status == STROBE_OK)
        status = s->read(&r);
    sim_instrument_close(&r.probes);
    return status;
}
