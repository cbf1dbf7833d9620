#include "engine/trace/export/packets.h"

#include <stdlib.h>
#include <zlib.h>

struct strobe_packets_deflate {
    z_stream z;
    uint8_t *packed; /* one compressed run */
};

static struct strobe_packets_deflate *open_deflate(void)
{
    enum { LEVEL = 6 };
    struct strobe_packets_deflate *d = calloc(1, sizeof *d);
    if (!d || deflateInit(&d->z, LEVEL) != Z_OK) {
        free(d);
        return NULL;
    }
    d->packed = malloc(deflateBound(&d->z, STROBE_PACKETS_BYTES));
    if (d->packed)
        return d;
    deflateEnd(&d->z);
    free(d);
    return NULL;
}

int strobe_packets_open(struct strobe_packets *w, struct strobe_outfile *out, int deflate)
{
    *w = (struct strobe_packets){.out = out};
    w->buffer = w->p = malloc(STROBE_PACKETS_BYTES);
    if (deflate)
        w->deflate = open_deflate();
    return w->buffer && (!deflate || w->deflate);
}

/* Compresses the buffered run of packets into one packet, so that at most one run is in memory. */
static void write_packed(struct strobe_packets *w, size_t bytes)
{
    uint8_t head[2 * PB_FIELD_BYTES_MAX], inner[PB_FIELD_BYTES_MAX];
    z_stream *z = &w->deflate->z;
    deflateReset(z);
    z->next_in = w->buffer;
    z->avail_in = (uInt)bytes;
    z->next_out = w->deflate->packed;
    z->avail_out = (uInt)deflateBound(z, bytes);
    if (deflate(z, Z_FINISH) != Z_STREAM_END) {
        w->failed = 1;
        return;
    }
    size_t packed = z->total_out;
    uint8_t *i = strobe_varint_put(strobe_varint_put(inner, PACKET_COMPRESSED << 3 | 2), packed);
    uint8_t *h = strobe_varint_put(strobe_varint_put(head, TRACE_PACKET << 3 | 2), (size_t)(i - inner) + packed);
    strobe_outfile_write(w->out, head, (size_t)(h - head));
    strobe_outfile_write(w->out, inner, (size_t)(i - inner));
    strobe_outfile_write(w->out, w->deflate->packed, packed);
}

void strobe_packets_flush(struct strobe_packets *w)
{
    size_t bytes = (size_t)(w->p - w->buffer);
    w->raw_bytes += bytes;
    if (bytes && w->deflate)
        write_packed(w, bytes);
    else if (bytes)
        strobe_outfile_write(w->out, w->buffer, bytes);
    w->p = w->buffer;
}

void strobe_packets_close(struct strobe_packets *w)
{
    strobe_packets_flush(w);
    if (w->deflate) {
        deflateEnd(&w->deflate->z);
        free(w->deflate->packed);
    }
    free(w->deflate);
    free(w->buffer);
    w->deflate = NULL;
    w->buffer = w->p = NULL;
}
