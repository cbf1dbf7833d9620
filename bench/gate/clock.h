/* The clock of programs that the gate records (clock.c). */
#ifndef STROBE_BENCH_GATE_CLOCK_H
#define STROBE_BENCH_GATE_CLOCK_H

#include <stdint.h>

/* Advances all clocks. Any thread. */
void gate_pass_time(uint64_t ns);

#endif
