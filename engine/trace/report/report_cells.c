#include "engine/trace/report/report_cells.h"

#include <inttypes.h>
#include <stdio.h>

struct strobe_cell strobe_cell_span(uint64_t ns)
{
    struct strobe_cell c;
    if (ns < 1000)
        snprintf(c.text, sizeof c.text, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        snprintf(c.text, sizeof c.text, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(c.text, sizeof c.text, "%.2f ms", (double)ns / 1e6);
    else
        snprintf(c.text, sizeof c.text, "%.3f s", (double)ns / 1e9);
    return c;
}

struct strobe_cell strobe_cell_bytes(uint64_t bytes)
{
    struct strobe_cell c;
    if (bytes < 1000)
        snprintf(c.text, sizeof c.text, "%" PRIu64 " B", bytes);
    else if (bytes < 1000000)
        snprintf(c.text, sizeof c.text, "%.1f kB", (double)bytes / 1e3);
    else if (bytes < 1000000000)
        snprintf(c.text, sizeof c.text, "%.2f MB", (double)bytes / 1e6);
    else
        snprintf(c.text, sizeof c.text, "%.3f GB", (double)bytes / 1e9);
    return c;
}

struct strobe_cell strobe_cell_share(uint64_t part, uint64_t whole)
{
    struct strobe_cell c;
    if (whole)
        snprintf(c.text, sizeof c.text, "%.1f %%", 100 * (double)part / (double)whole);
    else
        snprintf(c.text, sizeof c.text, "-");
    return c;
}
