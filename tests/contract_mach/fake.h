/* The table of Mach rules on the lab's fake: what its two programs share. */
#ifndef STROBE_CONTRACT_MACH_FAKE_H
#define STROBE_CONTRACT_MACH_FAKE_H

/* What threads that compute call again and again; NULL: nothing, for computing takes time by itself. */
extern void (*contract_mach_work)(void);

/* fake.c's main, where it is compiled for virtual threads. */
int contract_mach_main(int argc, char **argv);

#endif
