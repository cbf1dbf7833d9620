#include "engine/trace/import/rhea/rhea_ring.h"

#include "engine/base/error_format.h"
#include "engine/method/rhea/rhea_log.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { NS_DIGITS = 9, RING_ALIGNED = 128 };

struct rhea_log_text {
    char *text;
    size_t bytes, room;
};

static bool append_log_text(void *ctx, const char *text, size_t bytes)
{
    struct rhea_log_text *m = ctx;
    if (!strobe_array_reserve(&m->text, &m->room, m->bytes + bytes))
        return false;
    memcpy(m->text + m->bytes, text, bytes);
    m->bytes += bytes;
    return true;
}

static enum strobe_status read_packet_ring(const struct strobe_packet_ring *ring, struct strobe_calls *out,
                                           struct strobe_rhea_ring_stats *stats, struct strobe_error *error)
{
    struct rhea_log_text log = {0};
    struct strobe_rhea_log_stats written;
    enum strobe_status status = strobe_rhea_log(ring, NS_DIGITS, append_log_text, &log, &written);
    if (status == STROBE_OK) {
        stats->strange = written.strange;
        status = strobe_rhea_read(log.text, log.bytes, out, &stats->log, error);
    } else {
        strobe_error_set(error, "%s", status == STROBE_IO ? "not enough memory" : "a ring to which no capture wrote");
    }
    free(log.text);
    return status;
}

bool strobe_rhea_ring_is(const void *file, size_t bytes)
{
    return strobe_packet_ring_is(file, bytes);
}

/* A ring must be aligned to RING_ALIGNED bytes. The content of a pipe may not be: it is copied. */
enum strobe_status strobe_rhea_ring_read(const void *file, size_t bytes, struct strobe_calls *out,
                                         struct strobe_rhea_ring_stats *stats, struct strobe_error *error)
{
    struct strobe_packet_ring ring;
    size_t room = (bytes + RING_ALIGNED - 1) / RING_ALIGNED * RING_ALIGNED;
    bool is_aligned = (uintptr_t)file % RING_ALIGNED == 0;
    void *aligned = is_aligned ? NULL : aligned_alloc(RING_ALIGNED, room);
    *stats = (struct strobe_rhea_ring_stats){0};
    if (!is_aligned && !aligned) {
        strobe_error_set(error, "not enough memory");
        return STROBE_IO;
    }
    if (aligned)
        memcpy(aligned, file, bytes);
    enum strobe_status status = strobe_packet_ring_open(aligned ? aligned : (void *)(uintptr_t)file, bytes, &ring);
    if (status == STROBE_OK)
        status = read_packet_ring(&ring, out, stats, error);
    else if (status == STROBE_BAD_VERSION)
        strobe_error_set(error, "a ring of another version, expected %d", STROBE_PACKET_VERSION);
    else if (status == STROBE_TRUNCATED)
        strobe_error_set(error, "a ring's file that is cut off at %zu bytes, expected more", bytes);
    else
        strobe_error_set(error, "a ring's file whose head is damaged, expected 1 to %d slots",
                         STROBE_PACKET_SLOTS_MOST);
    free(aligned);
    return status;
}
