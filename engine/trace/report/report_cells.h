/* Formats numbers for a table. Any thread. */
#ifndef STROBE_TRACE_REPORT_REPORT_CELLS_H
#define STROBE_TRACE_REPORT_REPORT_CELLS_H

#include <stdint.h>

struct strobe_cell {
    char text[24];
};

/* Formats a span of time with four digits and a suitable unit. */
struct strobe_cell strobe_cell_span(uint64_t ns);

/* Formats a number of bytes in the same way, in units of 1000. */
struct strobe_cell strobe_cell_bytes(uint64_t bytes);

/* Formats a part in percent; "-" if `whole` is 0. */
struct strobe_cell strobe_cell_share(uint64_t part, uint64_t whole);

#endif
