/* The longest blocking calls of a truth, with what the reconstruction shows of each. Allocates; not thread-safe. */
#ifndef STROBE_SIM_PAGE_PAGE_WAITS_H
#define STROBE_SIM_PAGE_PAGE_WAITS_H

#include "engine/util/json.h"
#include "sim/score/pairing.h"

struct sim_page_wait {
    uint64_t begin_ns, end_ns, claimed_ns; /* claimed_ns: length of the wait of this kind that overlaps it most, or 0 */
    enum strobe_kind kind;
    uint32_t tid, generation;
    char thread[32];
    char waker[32], claimed_waker[32]; /* "": no thread. The right waker, if any wait that overlaps it has it */
    bool is_claimed, is_right;         /* a reconstructed wait overlaps it; one of them has the true waker */
};

struct sim_page_waits {
    struct sim_page_wait *at; /* the longest first */
    size_t count, room;
};

/* Lists at most `most` of the true waits in which a thread blocked. False: out of memory. */
bool sim_page_waits_of(const struct sim_pairing *p, size_t most, struct sim_page_waits *out);

/* Writes an array of objects. */
void sim_page_waits_write(const struct sim_page_waits *w, const char *key, struct strobe_json *j);

void sim_page_waits_free(struct sim_page_waits *w);

#endif
