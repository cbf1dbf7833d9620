#include "sim/player/notes.h"
#include "engine/base/error_format.h"

#include "engine/trace/model/function_tree.h"
#include "sim/player/work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of notes in the first part of a list, and in each other part. Most threads of a scenario that starts many need
 * one part. */
enum { FIRST_NOTES = 128, PART_NOTES = 65535 };

struct sim_notes_part {
    struct sim_notes_part *_Atomic next;
    uint32_t room;
    _Atomic uint32_t count;
    struct sim_note notes[];
};

static bool notes_add_part(struct sim_notes *n)
{
    uint32_t room = n->last ? PART_NOTES : FIRST_NOTES;
    struct sim_notes_part *new = sim_work_pages(sizeof *new + room * sizeof new->notes[0]);
    if (!new) {
        atomic_store(&n->failed, true);
        return false;
    }
    new->room = room;
    if (n->last)
        atomic_store_explicit(&n->last->next, new, memory_order_release);
    else
        atomic_store_explicit(&n->first, new, memory_order_release);
    n->last = new;
    return true;
}

void sim_notes_add(struct sim_notes *n, enum sim_note_kind kind, uint64_t time_ns, uint64_t value)
{
    uint32_t count = n->last ? atomic_load_explicit(&n->last->count, memory_order_relaxed) : 0;
    if (!n->last || count == n->last->room) {
        if (atomic_load(&n->failed) || !notes_add_part(n))
            return;
        count = 0;
    }
    n->last->notes[count] = (struct sim_note){.kind = kind, .time_ns = time_ns, .value = value};
    atomic_store_explicit(&n->last->count, count + 1, memory_order_release);
}

/* ---- writing ---- */

void sim_notes_write(const struct sim_notes *n, struct sim_notes_thread thread, FILE *out)
{
    /* The thread may append notes meanwhile, so each count is read once. */
    struct sim_notes_part *part = atomic_load_explicit(&n->first, memory_order_acquire), *end = NULL;
    uint32_t last = 0;
    thread.notes = 0;
    for (; part; part = atomic_load_explicit(&part->next, memory_order_acquire)) {
        last = atomic_load_explicit(&part->count, memory_order_acquire);
        thread.notes += last;
        end = part;
    }
    fwrite(&thread, sizeof thread, 1, out);
    for (part = atomic_load(&n->first); part; part = atomic_load(&part->next)) {
        fwrite(part->notes, sizeof *part->notes, part == end ? last : part->room, out);
        if (part == end)
            break;
    }
}

/* ---- reading ---- */

void sim_notes_name(const struct sim_thread_spec *spec, uint32_t index, char out[32])
{
    if (spec->count == 1 && index == 0)
        snprintf(out, 32, "%.31s", spec->name);
    else
        snprintf(out, 32, "%.20s-%u", spec->name, index + 1);
}

/* A notes file that is read as tracks. */
struct notes_input {
    FILE *file;
    const struct sim_scenario *scenario;
    const struct sim_notes_head *head;
    struct sim_tracks *out;
    uint32_t *method_names;
    uint32_t wait_names[STROBE_KIND_COUNT];
};

static uint64_t since_begin(const struct notes_input *in, uint64_t time_ns)
{
    return time_ns > in->head->begin_ns ? time_ns - in->head->begin_ns : 0;
}

struct open_wait {
    struct sim_wait wait;
    bool open;
};

/* Adds a note to a track. Returns false for an invalid note. */
static bool notes_replay(struct notes_input *in, uint32_t track, const struct sim_note *note, struct open_wait *w)
{
    uint64_t now = since_begin(in, note->time_ns);
    switch ((enum sim_note_kind)note->kind) {
    case SIM_NOTE_CALL:
        if (note->value >= in->scenario->method_count)
            return false;
        sim_track_call(in->out, track, now, in->method_names[note->value], SIM_CALL_METHOD);
        return true;
    case SIM_NOTE_RETURN: sim_track_return(in->out, track, now, note->value); return true;
    case SIM_NOTE_WAIT:
        if (note->value >= STROBE_KIND_COUNT || w->open)
            return false;
        sim_track_call(in->out, track, now, in->wait_names[note->value], SIM_CALL_WAIT);
        *w = (struct open_wait){{.begin_ns = now, .kind = (enum strobe_kind)note->value, .waker = SIM_NOBODY}, true};
        return true;
    case SIM_NOTE_WAKER:
        if (!w->open || note->value >= in->head->threads)
            return false;
        w->wait.waker = (int32_t)note->value;
        w->wait.release_ns = now;
        return true;
    case SIM_NOTE_WAITED:
        if (!w->open)
            return false;
        sim_track_return(in->out, track, now, false);
        w->wait.end_ns = now;
        w->wait.blocked = note->value;
        sim_track_wait(in->out, track, &w->wait);
        w->open = false;
        return true;
    case SIM_NOTE_MESSAGE: sim_track_message(in->out, track, now, (uint32_t)note->value); return true;
    }
    return false;
}

/* Ends a wait that was still open when the run ended. */
static void notes_end_cut_wait(struct notes_input *in, uint32_t track, struct open_wait *w, uint64_t end_ns)
{
    if (!w->open)
        return;
    w->wait.end_ns = end_ns;
    w->wait.blocked = true;
    sim_track_return(in->out, track, end_ns, false);
    sim_track_wait(in->out, track, &w->wait);
}

static uint32_t generation_of(const struct sim_tracks *tracks, uint32_t tid)
{
    uint32_t generation = 1;
    for (size_t i = 0; i < tracks->track_count; i++)
        generation += tracks->tracks[i].tid == tid;
    return generation;
}

static bool notes_read_thread(struct notes_input *in)
{
    struct sim_notes_thread t;
    struct sim_note note;
    struct open_wait wait = {.open = false};
    char name[32];
    bool over = false;
    if (fread(&t, sizeof t, 1, in->file) != 1 || t.spec >= in->scenario->thread_count)
        return false;
    sim_notes_name(&in->scenario->threads[t.spec], t.index, name);
    bool ended = t.end_ns && t.end_ns < in->head->end_ns;
    uint64_t end_ns = since_begin(in, ended ? t.end_ns : in->head->end_ns);
    uint32_t track =
        sim_track_add(in->out, t.tid, generation_of(in->out, t.tid), name, t.is_main, since_begin(in, t.begin_ns));
    for (uint64_t i = 0; i < t.notes; i++) {
        if (fread(&note, sizeof note, 1, in->file) != 1)
            return false;
        /* Notes after the end of the run are not part of the truth. The time of a WAKER note is that of the release. */
        over = over || (note.kind != SIM_NOTE_WAKER && since_begin(in, note.time_ns) > end_ns);
        if (!over && !notes_replay(in, track, &note, &wait))
            return false;
    }
    notes_end_cut_wait(in, track, &wait, end_ns);
    sim_track_end(in->out, track, end_ns);
    if (!in->out->failed) {
        in->out->tracks[track].totals = t.totals;
        in->out->tracks[track].spec = t.spec;
    }
    return true;
}

static bool notes_read_threads(struct notes_input *in, struct sim_notes_head *head)
{
    if (fread(head, sizeof *head, 1, in->file) != 1 || head->failed)
        return false;
    in->method_names = calloc(in->scenario->method_count + 1u, sizeof *in->method_names);
    if (!in->method_names)
        return false;
    for (uint32_t i = 0; i < in->scenario->method_count; i++)
        in->method_names[i] = sim_tracks_name(in->out, in->scenario->methods[i].name);
    for (unsigned i = 0; i < STROBE_KIND_COUNT; i++)
        in->wait_names[i] = sim_tracks_name(in->out, strobe_wait_name(i));
    for (uint32_t i = 0; i < head->threads; i++)
        if (!notes_read_thread(in))
            return false;
    in->out->end_ns = since_begin(in, head->end_ns);
    return !in->out->failed;
}

enum strobe_status sim_notes_read(const char *path, const struct sim_scenario *scenario, struct sim_notes_head *head,
                                  struct sim_tracks *out, struct strobe_error *error)
{
    struct notes_input in = {.file = fopen(path, "rb"), .scenario = scenario, .head = head, .out = out};
    if (!in.file) {
        strobe_error_set(error, "%s: %s", path, strerror(errno));
        return STROBE_IO;
    }
    bool whole = notes_read_threads(&in, head);
    free(in.method_names);
    fclose(in.file);
    if (whole)
        return STROBE_OK;
    strobe_error_set(error, "%s: not the whole of what the played threads noted", path);
    return STROBE_IO;
}
