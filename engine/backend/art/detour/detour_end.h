/* The end of a function, by the call frame tables of its library. A stripped library has these tables, because
 * exceptions and unwinders need them. Format: Linux Standard Base 5.0, "DWARF Extensions" (.eh_frame_hdr, .eh_frame);
 * only the encodings that linkers write are read. Calls dl_iterate_phdr. Start only. */
#ifndef STROBE_BACKEND_ART_DETOUR_DETOUR_END_H
#define STROBE_BACKEND_ART_DETOUR_DETOUR_END_H

#include <stdint.h>

/* Returns NULL when no table has a function that begins at this address. */
const uint8_t *strobe_detour_end(const uint8_t *function);

#endif
