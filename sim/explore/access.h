/* The operations of explored threads. A program does not call these functions: the compiler inserts the calls
 * (access.c), and the litmus interpreter makes them.
 *
 * bytes: 1, 2, 4, 8; order: memory_order_* of <stdatomic.h>. site: address in the code, or NULL; text: what to print
 * for it, or NULL. Outside the threads of an exploration (in setup and check) the operations act on memory at once. */
#ifndef STROBE_SIM_EXPLORE_ACCESS_H
#define STROBE_SIM_EXPLORE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct explore_site {
    const void *code;
    const char *text;
};

uint64_t explore_load(const volatile void *at, uint32_t bytes, int order, struct explore_site site);
void explore_store(volatile void *at, uint32_t bytes, uint64_t value, int order, struct explore_site site);

enum explore_update { EXPLORE_EXCHANGE, EXPLORE_ADD, EXPLORE_SUB, EXPLORE_AND, EXPLORE_OR, EXPLORE_XOR, EXPLORE_NAND };

/* Returns the previous value. */
uint64_t explore_fetch(volatile void *at, uint32_t bytes, enum explore_update update, uint64_t operand, int order,
                       struct explore_site site);

/* Returns true when it stored `desired`. Otherwise *expected is the value found. weak: may also fail spuriously. */
bool explore_compare_exchange(volatile void *at, uint32_t bytes, uint64_t *expected, uint64_t desired, bool weak,
                              int order, int failure_order, struct explore_site site);

void explore_fence(int order, struct explore_site site);

/* Reports a plain access to memory that is about to happen, or has happened. Checks that it does not race. */
void explore_plain(const volatile void *at, uint64_t bytes, bool store, struct explore_site site);

#endif
