/* The part of the page on findings. It lists the findings of the reconstructed timeline, each with the stack to blame
 * and whether the truth has it too. It also lists the findings that the reconstruction missed. */
#ifndef STROBE_SIM_SCORE_PAGE_FOUND_H
#define STROBE_SIM_SCORE_PAGE_FOUND_H

#include "engine/util/outfile.h"
#include "sim/score/found.h"

void sim_page_found(struct strobe_outfile *out, const struct sim_found *found);

#endif
