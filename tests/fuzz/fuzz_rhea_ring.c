/* Damaged rings of RheaTrace, as killed apps leave them: whatever messages a ring holds and whatever bytes of it
 * change, reading ends in a status, without a crash, a hang or a read out of bounds. A ring that was read has calls in
 * order.
 *
 * Nearly all files would be refused at their first bytes. The input therefore is: the number of slots, the number of
 * messages, each message as its length and its bytes, and edits of the ring, each an offset (2 bytes) and a value. */
#include "engine/base/error.h"
#include "engine/method/rhea/packet_ring.h"
#include "engine/trace/import/rhea/rhea_ring.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { SLOTS_MAX = 32, MESSAGES_MAX = 24, MESSAGE_MAX = 200 };

static void read_ring(const void *file, size_t bytes)
{
    struct strobe_calls calls;
    struct strobe_rhea_ring_stats stats;
    struct strobe_error error = {""};
    strobe_calls_open(&calls);
    strobe_rhea_ring_is(file, bytes);
    if (strobe_rhea_ring_read(file, bytes, &calls, &stats, &error) == STROBE_OK) {
        for (size_t i = 0; i < calls.thread_count; i++)
            for (size_t k = 1; k < calls.threads[i].call_count; k++)
                fuzz_require(calls.threads[i].calls[k - 1].time_ns <= calls.threads[i].calls[k].time_ns);
    } else {
        fuzz_require(error.text[0]);
    }
    strobe_calls_close(&calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_bytes in = {data, bytes};
    uint32_t slots = 1 + fuzz_below(&in, SLOTS_MAX), messages = fuzz_below(&in, MESSAGES_MAX);
    size_t ring_bytes = strobe_packet_ring_bytes(slots), used = (ring_bytes + 127) & ~(size_t)127;
    struct strobe_packet_ring ring;
    uint8_t *memory = aligned_alloc(128, used);
    fuzz_require(memory);
    memset(memory, 0, used);
    strobe_packet_ring_create(memory, slots);
    fuzz_require(strobe_packet_ring_open(memory, ring_bytes, &ring) == STROBE_OK);
    while (messages-- && in.left) {
        size_t length = 1 + fuzz_below(&in, MESSAGE_MAX);
        length = length < in.left ? length : in.left;
        if (length)
            strobe_packet_write(&ring, in.at, length);
        in.at += length;
        in.left -= length;
    }
    while (in.left) {
        size_t at = fuzz_pair(&in) % ring_bytes;
        memory[at] = fuzz_byte(&in);
    }
    read_ring(memory, ring_bytes);
    free(memory);
    return 0;
}
