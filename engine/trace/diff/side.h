/* One side of a comparison: how much time each call path took in each *column*. With several captures on the side, a
 * column is a capture. With one capture, a column is a block of its time, if it is long enough to be divided.
 *
 * Only the sides of two single captures are divided into blocks. If the other side has several captures, the spread
 * between its captures stands for both sides.
 *
 * Amounts are in ns or in bytes. Zeroed memory is an empty side. Reading half only: allocates. One thread at a time. */
#ifndef STROBE_TRACE_DIFF_SIDE_H
#define STROBE_TRACE_DIFF_SIDE_H

#include <stddef.h>
#include <stdint.h>

/* The number of blocks, and the shortest block: shorter ones would be about as long as one frame of an app. */
enum { STROBE_DIFF_BLOCKS = 32, STROBE_DIFF_BLOCKS_LEAST = 8, STROBE_DIFF_BLOCK_MS_LEAST = 25 };

/* Blocks for allocations are longer, because their amounts are known at few times. */
enum { STROBE_DIFF_ALLOC_BLOCKS = 8 };

/* Amounts by row and column. A row that was never written to may be beyond `rows`; it is zero. */
struct strobe_diff_grid {
    double *at;
    size_t rows, room; /* room: in cells */
    uint32_t columns;
};

struct strobe_diff_capture {
    const char *path;
    double seconds;
    int is_trace;
};

struct strobe_diff_side {
    struct strobe_diff_grid wall, cpu, alloc; /* by path of the book; self amounts */
    struct strobe_diff_grid sections;         /* by section */
    uint64_t *calls;                          /* by path: slices in all captures */
    size_t calls_room;
    struct strobe_diff_capture *captures;
    size_t capture_count, capture_room;
    double seconds;       /* of all captures */
    uint32_t block_count; /* 0: columns are captures */
    uint64_t begin_ns;    /* of the capture that is being read */
    double block_ns;      /* length of a block */
    uint32_t expected;    /* the number of captures of this side */
    int divides;          /* its only capture is divided into blocks */
    int failed;           /* out of memory */
};

/* Prepares for `captures` captures. With `divides`, a capture that is long enough is divided into blocks. */
void strobe_diff_side_open(struct strobe_diff_side *side, uint32_t captures, int divides);

/* Begins a capture, which lasts from `begin_ns` to `end_ns`. `path` must outlive the side.
 * Returns 0 when memory runs out. */
int strobe_diff_side_begin(struct strobe_diff_side *side, const char *path, int is_trace, uint64_t begin_ns,
                           uint64_t end_ns);

/* Adds `amount`, evenly spread from `from_ns` to `to_ns`, to a row of a grid of the side. */
void strobe_diff_side_add(struct strobe_diff_side *side, struct strobe_diff_grid *grid, uint32_t row, uint64_t from_ns,
                          uint64_t to_ns, double amount);

/* Adds `amount` to column `column` of a grid. */
void strobe_diff_grid_add(struct strobe_diff_side *side, struct strobe_diff_grid *grid, uint32_t row, uint32_t column,
                          double amount);

/* Adds slices to the count of a path. */
void strobe_diff_side_call(struct strobe_diff_side *side, uint32_t path);

/* Returns the sum over a row's columns. */
double strobe_diff_grid_sum(const struct strobe_diff_grid *grid, uint32_t row);

/* Returns the factor that turns the amount of a column into an observation: the amount per second, or of a whole
 * capture if `whole` is set. Observations of blocks have the mean of the capture. */
double strobe_diff_side_scale(const struct strobe_diff_side *side, const struct strobe_diff_grid *grid, uint32_t column,
                              int whole);

void strobe_diff_side_free(struct strobe_diff_side *side);

#endif
