/* The part of the page on findings: what watchers find in a claim, with the stack to blame, whether it is in the truth,
 * and what the claim has missed. */
#ifndef STROBE_SIM_SCORE_PAGE_FOUND_H
#define STROBE_SIM_SCORE_PAGE_FOUND_H

#include "engine/util/outfile.h"
#include "sim/score/found.h"

void sim_page_found(struct strobe_outfile *out, const struct sim_found *found);

#endif
