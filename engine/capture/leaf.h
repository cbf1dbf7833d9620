/* The caller of a leaf function that keeps no frame record.
 *
 * Compilers that keep frame pointers leave them out of leaf functions (-momit-leaf-frame-pointer; all of arm64's).
 * Stopped there, the chain of frame records begins with the caller's own, and the caller is missing: all that names
 * it is the return address, on top of the stack (x86-64) or in the link register (aarch64), which in any other
 * function may hold anything. So it is believed only when the code itself proves it (S-43): the instruction before
 * it is a direct call, to a place not far before the stopped instruction, and nothing between that place and the
 * stopped instruction sets a frame up. Calls through pointers or linkage tables prove nothing: then the caller stays
 * missing.
 *
 * Costs two reads of code. Sampler, after resume. */
#ifndef STROBE_CAPTURE_LEAF_H
#define STROBE_CAPTURE_LEAF_H

#include "engine/host/host.h"

#include <stdbool.h>

enum { STROBE_LEAF_BYTES_MAX = 1024 };   /* most code of a leaf function before the stopped instruction */

/* True when `candidate` is proven to be the return address of the function stopped at `pc`. */
bool strobe_leaf_proven(const struct strobe_host *host, uint64_t pc, uint64_t candidate);

#endif
