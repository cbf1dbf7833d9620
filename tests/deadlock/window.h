/* A capture with a call planted in its window. Shared by the programs on real threads and on virtual ones. */
#ifndef STROBE_DEADLOCK_WINDOW_H
#define STROBE_DEADLOCK_WINDOW_H

/* The main function, deadlock FILE MS: records a session into FILE while two threads allocate for MS, and prints how
 * often and for how long the sampler stopped a thread. With DEADLOCK_HOLD in the environment one thread holds a
 * mutex instead. Returns 0 when the session is consistent. */
int deadlock_main(int argc, char **argv);

#endif
