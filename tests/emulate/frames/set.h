/* The function set: set_run calls all functions and ends in set_finish, with the result in x0. */
#ifndef STROBE_EMULATE_FRAMES_SET_H
#define STROBE_EMULATE_FRAMES_SET_H

#include <stdint.h>

void set_run(uint64_t seed);
_Noreturn void set_finish(uint64_t result);

/* Written in assembly (leaf.S): shapes that compilers seldom make. */
uint64_t set_leaf(uint64_t a);
uint64_t set_leaf_saves(uint64_t a);
uint64_t set_record_in_the_middle(uint64_t a);
uint64_t set_jumps_through_stub(uint64_t a);
uint64_t set_lends_link(uint64_t a);

#endif
