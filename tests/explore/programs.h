/* Groups of programs, one line each; the arrays end with a NULL. */
#ifndef STROBE_TESTS_EXPLORE_PROGRAMS_H
#define STROBE_TESTS_EXPLORE_PROGRAMS_H

#include "sim/explore/program.h"

extern const struct explore_program *const explore_suspend_programs[];

#endif
