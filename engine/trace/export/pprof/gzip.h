/* Writes a gzip file (RFC 1952) through zlib. The header has no time and no name, so equal content gives equal bytes.
 * Allocates. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_PPROF_GZIP_H
#define STROBE_TRACE_EXPORT_PPROF_GZIP_H

#include "engine/util/outfile.h"

#include <stddef.h>

struct strobe_gzip;

/* Begins a file. NULL: out of memory. */
struct strobe_gzip *strobe_gzip_open(struct strobe_outfile *out);

/* Appends bytes. */
void strobe_gzip_write(struct strobe_gzip *g, const void *data, size_t bytes);

/* Writes the end and frees the writer. STROBE_IO: out of memory. Errors of the file are those of `out`. NULL is
 * allowed. */
enum strobe_status strobe_gzip_close(struct strobe_gzip *g);

#endif
