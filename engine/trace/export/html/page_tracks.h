/* The timeline of a page: for each thread the slices of each depth. A page shows at most some thousand slices side by
 * side, so slices that are narrower than the *resolution* and lie within it are merged into one block, which has their
 * number and the name of the longest. The resolution is the timeline's length divided by STROBE_PAGE_STEPS. It is
 * doubled while there are more blocks than blocks_most. Times are since the begin of the session.
 *
 * Zeroed memory has no tracks. Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_EXPORT_HTML_PAGE_TRACKS_H
#define STROBE_TRACE_EXPORT_HTML_PAGE_TRACKS_H

#include "engine/trace/session/reader.h"
#include "engine/util/json.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_PAGE_STEPS = 20000, STROBE_PAGE_BLOCKS_MOST = 120000, STROBE_PAGE_TRACKS_MOST = 300 };

/* One slice, or several that are merged. */
struct strobe_page_block {
    uint64_t begin_ns, end_ns;
    uint64_t longest_ns; /* length of the longest slice */
    uint32_t name;       /* its name: any number of the caller */
    uint32_t count;      /* slices */
};

struct strobe_page_level {
    struct strobe_page_block *blocks; /* by time */
    size_t count, room;
};

struct strobe_page_track {
    const char *name; /* of the thread */
    uint32_t tid, generation;
    int is_main;
    uint64_t cpu_ns, wall_ns;         /* time in which a slice was open */
    struct strobe_page_level *levels; /* by depth - 1 */
    size_t level_count, level_room;
};

struct strobe_page_tracks {
    struct strobe_page_track *tracks; /* the main thread first, then those with most CPU time */
    size_t count, room;
    size_t blocks_most; /* blocks to keep; STROBE_PAGE_BLOCKS_MOST unless the caller lowers it */
    size_t left_out;    /* threads with less CPU time than the others */
    uint64_t resolution_ns;
    uint64_t slices;      /* of all tracks that were added */
    uint64_t last_slices; /* of the track that was added last, while it is made */
    size_t blocks;
    int failed; /* memory ran out */
};

/* Sets the resolution for a timeline of `span_ns`. */
void strobe_page_tracks_open(struct strobe_page_tracks *t, uint64_t span_ns);

/* Begins a track. The thread must outlive the tracks. */
void strobe_page_track_begin(struct strobe_page_tracks *t, const struct strobe_reader_thread *thread);

/* Adds a slice to the track that was begun last. Slices of one depth come in the order of time and do not overlap. */
void strobe_page_track_slice(struct strobe_page_tracks *t, uint32_t depth, uint64_t begin_ns, uint64_t end_ns,
                             uint32_t name);

/* Ends the track. A track without slices is dropped. */
void strobe_page_track_end(struct strobe_page_tracks *t, uint64_t cpu_ns, uint64_t wall_ns);

/* Sorts the tracks, and keeps STROBE_PAGE_TRACKS_MOST of them and blocks_most blocks. STROBE_IO: memory ran
 * out, now or before. */
enum strobe_status strobe_page_tracks_finish(struct strobe_page_tracks *t);

/* Writes {"resolution_ns", "slices", "blocks", "left_out", "tracks": [{"name", "tid", "generation", "main", "cpu_ns",
 * "levels": [...]}]}. A level is a list of numbers. A block has three or four of them: the time since the end of the
 * block before it, its length, and the number of its name; a block of several slices has -1 - number instead, and then
 * the number of slices. `name_of` returns the number of a name in the page. */
void strobe_page_tracks_write(const struct strobe_page_tracks *t, const char *key, struct strobe_json *j,
                              uint32_t (*name_of)(void *ctx, uint32_t name), void *ctx);

void strobe_page_tracks_free(struct strobe_page_tracks *t);

#endif
