/* Numbers as a reader of a table wants them. Any thread. */
#ifndef STROBE_TRACE_REPORT_REPORT_CELLS_H
#define STROBE_TRACE_REPORT_REPORT_CELLS_H

#include <stdint.h>

struct strobe_cell {
    char text[24];
};

/* A span in the unit that shows four figures of it. */
struct strobe_cell strobe_cell_span(uint64_t ns);

/* The same of bytes, in units of 1000. */
struct strobe_cell strobe_cell_bytes(uint64_t bytes);

/* A part in percent; "-" of nothing. */
struct strobe_cell strobe_cell_share(uint64_t part, uint64_t whole);

#endif
