/* Functions in assembly with different first instructions, for tests of detours. Each takes two numbers, returns one,
 * and has no other effect. */
#ifndef STROBE_UNIT_SUPPORT_DETOUR_FUNCTIONS_H
#define STROBE_UNIT_SUPPORT_DETOUR_FUNCTIONS_H

#include <stdbool.h>

typedef long function(long, long);

struct movable {
    const char *name; /* its first instructions */
    function *function;
    bool recurses; /* it calls itself `a` times */
};

struct immovable {
    const char *name;
    function *function;
    int refused; /* errno */
};

enum { CODE_BYTES = 64 };

/* Copies the first bytes of a function. */
void read_code(unsigned char out[CODE_BYTES], function *f);

/* NULL names at the end. */
extern const struct movable movables[];
extern const struct immovable immovables[];

/* x86-64: calls read with its arguments and rdx, from the third byte on. */
long reads_inside(long fd, long buffer);

/* arm64: its second instruction is a call. */
long call_after_frame(long a, long b);

#endif
