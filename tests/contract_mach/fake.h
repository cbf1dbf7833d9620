/* Declarations shared by the two programs that run the Mach rules on the lab's fake. */
#ifndef STROBE_CONTRACT_MACH_FAKE_H
#define STROBE_CONTRACT_MACH_FAKE_H

/* The `work` of the rules' environment (rules.h). NULL on real threads, where computation takes time. */
extern void (*contract_mach_work)(void);

/* The main function of fake.c when it is compiled for virtual threads. */
int contract_mach_main(int argc, char **argv);

#endif
