/* The main function of a driver of the gate: a program with modes, each of which does fixed work.
 *
 *     DRIVER MODE
 *     DRIVER modes      lists the modes, one a line
 *
 * The gate counts the instructions of the function measured_MODE and its callees. */
#ifndef STROBE_BENCH_GATE_MODES_H
#define STROBE_BENCH_GATE_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct gate_mode {
    const char *name;
    void (*run)(void);
};

/* Runs the mode that the arguments name, and returns the exit status of the program. */
static inline int gate_run_mode(const struct gate_mode *modes, size_t count, int argc, char **argv)
{
    bool list = argc == 2 && !strcmp(argv[1], "modes"), known = list;
    for (size_t i = 0; i < count; i++) {
        if (list)
            puts(modes[i].name);
        else if (argc == 2 && !strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            known = true;
        }
    }
    if (!known)
        fprintf(stderr, "usage: %s MODE | modes\n", argv[0]);
    return known ? 0 : 2;
}

#endif
