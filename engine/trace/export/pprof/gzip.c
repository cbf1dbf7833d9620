#include "engine/trace/export/pprof/gzip.h"

#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 6, GZIP_WINDOW = 15 + 16, MEMORY = 8, CHUNK = 1 << 16 };

struct strobe_gzip {
    z_stream z;
    struct strobe_outfile *out;
    int failed;
    unsigned char packed[CHUNK];
};

struct strobe_gzip *strobe_gzip_open(struct strobe_outfile *out)
{
    struct strobe_gzip *g = calloc(1, sizeof *g);
    if (!g || deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return NULL;
    }
    g->out = out;
    return g;
}

/* Compresses what zlib has taken, and writes what it returns. */
static void pack_chunks(struct strobe_gzip *g, int flush)
{
    do {
        g->z.next_out = g->packed;
        g->z.avail_out = CHUNK;
        g->failed |= deflate(&g->z, flush) == Z_STREAM_ERROR;
        strobe_outfile_write(g->out, g->packed, CHUNK - g->z.avail_out);
    } while (!g->z.avail_out && !g->failed);
}

void strobe_gzip_write(struct strobe_gzip *g, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    while (bytes) {
        size_t part = bytes < CHUNK ? bytes : CHUNK;
        g->z.next_in = (unsigned char *)(uintptr_t)from;
        g->z.avail_in = (uInt)part;
        pack_chunks(g, Z_NO_FLUSH);
        from += part;
        bytes -= part;
    }
}

enum strobe_status strobe_gzip_close(struct strobe_gzip *g)
{
    if (!g)
        return STROBE_OK;
    pack_chunks(g, Z_FINISH);
    enum strobe_status status = g->failed ? STROBE_IO : STROBE_OK;
    deflateEnd(&g->z);
    free(g);
    return status;
}
