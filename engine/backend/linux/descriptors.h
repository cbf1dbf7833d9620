/* Descriptors that the engine keeps open in the program's table. They get high numbers, so that the program's own
 * descriptors get the same numbers as without the engine. Any context, signal handlers included; errno stays
 * unchanged. */
#ifndef STROBE_BACKEND_LINUX_DESCRIPTORS_H
#define STROBE_BACKEND_LINUX_DESCRIPTORS_H

/* Moves an open descriptor to a high number and makes it close-on-exec. The number is the first free one from 16 below
 * the limit on. The limit is that of open descriptors of the process, at most 1024, because a table with higher numbers
 * costs memory and slows forks. Returns the new number, or `fd` when the move failed. */
int strobe_linux_raise_descriptor(int fd);

#endif
