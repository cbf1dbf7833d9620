/* Functions in assembly, each with another beginning, for detours to be put into. All take two numbers and give one,
 * and have no other effect. */
#ifndef STROBE_UNIT_SUPPORT_DETOUR_FUNCTIONS_H
#define STROBE_UNIT_SUPPORT_DETOUR_FUNCTIONS_H

#include <stdbool.h>

typedef long function(long, long);

struct movable {
    const char *name; /* what it begins with */
    function *function;
    bool recurses; /* a calls of itself */
};

struct immovable {
    const char *name;
    function *function;
    int refused; /* errno */
};

/* NULL names at the end. */
extern const struct movable movables[];
extern const struct immovable immovables[];

/* arm64: its second instruction is a call. */
long call_after_frame(long a, long b);

#endif
