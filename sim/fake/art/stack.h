/* Frames in memory: stack.c makes them, visitor.c reads them.
 *
 * ManagedStack and ShadowFrame have the runtime's layout. Quick frames belong to compiled code. Their layout is
 * invisible from outside except for the first word, the ArtMethod; the rest is the fake's own. */
#ifndef STROBE_SIM_FAKE_ART_STACK_H
#define STROBE_SIM_FAKE_ART_STACK_H

#include "sim/fake/art/fake.h"

enum { FAKE_QUICK_TAGS = 3, FAKE_QUICK_GENERIC_JNI = 1 }; /* tags in the word that refers to the top quick frame */

struct fake_managed_stack {
    uintptr_t quick;
    struct fake_managed_stack *link;
    void *shadow;
};

/* An inlined callee: it has no frame, only a record in the frame that it was inlined into. */
struct fake_inlined {
    const void *method;
    struct fake_inlined *caller;
    uint32_t dex_pc;
};

struct fake_quick {
    const void *method;
    struct fake_quick *caller;    /* of the same fragment; NULL = none */
    struct fake_inlined *inlined; /* the innermost; NULL = none */
    uint32_t dex_pc, padding;
};

#endif
