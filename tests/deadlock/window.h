/* A capture with a call planted in its window: what its programs, on real threads and on virtual ones, share. */
#ifndef STROBE_DEADLOCK_WINDOW_H
#define STROBE_DEADLOCK_WINDOW_H

/* deadlock FILE MS: records a session into FILE while two threads allocate for so long, and says how often the sampler
 * stopped a thread and for how long. Its end is 0 when the session is in order. */
int deadlock_main(int argc, char **argv);

#endif
