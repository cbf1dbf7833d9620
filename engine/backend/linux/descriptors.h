/* Descriptors that the engine keeps open in the program's table: out of the way of the program's own, which get the
 * numbers that they would get without the engine. Any context, signal handlers included; errno is left as it was. */
#ifndef STROBE_BACKEND_LINUX_DESCRIPTORS_H
#define STROBE_BACKEND_LINUX_DESCRIPTORS_H

/* Moves an open descriptor to a high number: the first that is free from 16 below the limit on, where the limit is what
 * the process may open, 1024 at most (a table with higher numbers costs memory and makes forks slow). It is closed on
 * exec from then on. Returns the new number, or `fd` when it could not be moved. */
int strobe_linux_raise_descriptor(int fd);

#endif
