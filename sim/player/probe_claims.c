#include "sim/player/probe_claims.h"
#include "engine/base/error_format.h"

#include "engine/util/whole_file.h"
#include "sim/player/probes/probes.h"
#include "sim/policy/btrace2_reconstruct.h"
#include "sim/policy/matrix_reconstruct.h"
#include "sim/policy/rhea_reconstruct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Arguments of the functions that read a capture. */
struct reading {
    const char *path;
    const struct sim_scenario *scenario;
    const struct sim_notes_head *head;
    struct sim_instrument probes;
    const struct sim_tracks *truth;
    struct sim_tracks *out;
    struct strobe_error *error;
};

static enum strobe_status probe_tracks_fail(const struct reading *r, enum strobe_status status, const char *reason)
{
    strobe_error_set(r->error, "%s: %s", r->path, reason);
    return status;
}

/* ---- matrix ---- */

static enum strobe_status read_matrix_entries(struct reading *r, FILE *in)
{
    struct sim_probe_matrix_head head;
    if (fread(&head, sizeof head, 1, in) != 1)
        return probe_tracks_fail(r, STROBE_BAD_INPUT, "expected the head of a method log");
    uint64_t *entries = malloc((head.count + 1) * sizeof *entries);
    if (!entries)
        return probe_tracks_fail(r, STROBE_IO, strerror(ENOMEM));
    enum strobe_status status = STROBE_BAD_INPUT;
    if (fread(entries, sizeof *entries, head.count, in) != head.count)
        probe_tracks_fail(r, status, "expected as many entries as its head says");
    else
        status = sim_matrix_reconstruct(&(struct sim_matrix_capture){.tid = head.tid,
                                                                     .name = head.name,
                                                                     .entries = entries,
                                                                     .count = head.count,
                                                                     .lost = head.lost,
                                                                     .origin_ns = r->head->begin_ns - head.base_ns,
                                                                     .end_ns = r->head->end_ns - r->head->begin_ns},
                                        &r->probes, r->scenario, r->out);
    free(entries);
    return status == STROBE_IO ? probe_tracks_fail(r, status, strerror(ENOMEM)) : status;
}

static enum strobe_status read_matrix(struct reading *r)
{
    FILE *in = fopen(r->path, "rb");
    if (!in)
        return probe_tracks_fail(r, STROBE_IO, strerror(errno));
    enum strobe_status status = read_matrix_entries(r, in);
    fclose(in);
    return status;
}

/* ---- rheatrace ---- */

/* Converts a time of CLOCK_MONOTONIC to CLOCK_BOOTTIME. The clocks differ by the time that the machine was suspended.
 * The function assumes that this difference has not changed since the run. */
static uint64_t boot_of_monotonic(uint64_t ns)
{
    struct timespec boot, monotonic;
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    int64_t s = boot.tv_sec - monotonic.tv_sec, part = boot.tv_nsec - monotonic.tv_nsec;
    int64_t apart = s * 1000000000 + part;
    return apart < 1000000 ? ns : ns + (uint64_t)apart;
}

static enum strobe_status read_rhea(struct reading *r)
{
    struct strobe_whole_file log;
    if (strobe_whole_file_open(r->path, &log) != STROBE_OK)
        return probe_tracks_fail(r, STROBE_IO, strerror(errno));
    struct strobe_error error = {""};
    enum strobe_status status =
        sim_rhea_reconstruct(&(struct sim_rhea_capture){.log = log.at,
                                                        .bytes = log.bytes,
                                                        .origin_ns = boot_of_monotonic(r->head->begin_ns),
                                                        .end_ns = r->head->end_ns - r->head->begin_ns},
                             &r->probes, r->scenario, r->out, &error);
    r->out->bytes += log.bytes;
    strobe_whole_file_close(&log);
    return status == STROBE_OK ? status : probe_tracks_fail(r, status, error.text);
}

/* ---- btrace2 ---- */

/* Replaces the number of a thread in the log (struct sim_probe_thread) by its tid and name. */
static void rename_thread(const void *truth, struct strobe_calls_thread *t)
{
    const struct sim_tracks *tracks = truth;
    if (!t->tid || t->tid > tracks->track_count)
        return;
    const struct sim_track *track = &tracks->tracks[t->tid - 1];
    snprintf(t->name, sizeof t->name, "%s", track->name);
    t->is_main = track->is_main;
    t->tid = track->tid;
}

static enum strobe_status read_btrace2(struct reading *r)
{
    struct strobe_whole_file log;
    if (strobe_whole_file_open(r->path, &log) != STROBE_OK)
        return probe_tracks_fail(r, STROBE_IO, strerror(errno));
    struct strobe_error error = {""};
    enum strobe_status status =
        sim_btrace2_reconstruct(&(struct sim_btrace2_capture){.log = log.at,
                                                              .bytes = log.bytes,
                                                              .origin_ns = r->head->begin_ns,
                                                              .end_ns = r->head->end_ns - r->head->begin_ns,
                                                              .rename = rename_thread,
                                                              .ctx = r->truth},
                                &r->probes, r->scenario, r->out, &error);
    strobe_whole_file_close(&log);
    return status == STROBE_OK ? status : probe_tracks_fail(r, status, error.text);
}

/* ---- all policies ---- */

struct probe_reader {
    const char *policy;
    const struct sim_instrument_options *probes;
    bool main_only;
    bool (*view)(const struct sim_instrument *probes, const struct sim_scenario *scenario, struct sim_tracks *truth,
                 bool main_only, struct sim_view *out);
    enum strobe_status (*read)(struct reading *r);
};

static const struct probe_reader probe_readers[] = {
    {"matrix", &sim_matrix_probes, true, sim_instrument_view, read_matrix},
    {"rheatrace", &sim_rhea_probes, false, sim_rhea_view, read_rhea},
    {"rheatrace-main", &sim_rhea_probes, true, sim_rhea_view, read_rhea},
    {"btrace2", &sim_btrace2_probes, false, sim_instrument_view, read_btrace2},
};

static const struct probe_reader *find_probe_reader(const char *policy)
{
    for (size_t i = 0; i < sizeof probe_readers / sizeof probe_readers[0]; i++)
        if (!strcmp(probe_readers[i].policy, policy))
            return &probe_readers[i];
    return NULL;
}

bool sim_real_is_probe_policy(const char *policy)
{
    return find_probe_reader(policy) != NULL;
}

enum strobe_status sim_real_read_probes(const char *policy, const char *path, const struct sim_scenario *scenario,
                                        const struct sim_notes_head *head, struct sim_tracks *truth,
                                        struct sim_tracks *out, struct sim_view *view, struct strobe_error *error)
{
    const struct probe_reader *s = find_probe_reader(policy);
    struct reading r = {.path = path, .scenario = scenario, .head = head, .truth = truth, .out = out, .error = error};
    enum strobe_status status = STROBE_OK;
    if (!sim_instrument_open(&r.probes, scenario, s->probes) ||
        !s->view(&r.probes, scenario, truth, s->main_only, view))
        status = probe_tracks_fail(&r, STROBE_IO, strerror(ENOMEM));
    if (status == STROBE_OK)
        status = s->read(&r);
    sim_instrument_close(&r.probes);
    return status;
}
