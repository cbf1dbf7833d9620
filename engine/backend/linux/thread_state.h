/* What a thread of this process does, by the kernel. */
#ifndef STROBE_BACKEND_LINUX_THREAD_STATE_H
#define STROBE_BACKEND_LINUX_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the letter of the thread's state in /proc/self/task/TID/stat (proc(5)): 'R' = it is on a processor, or would
 * be if other threads did not have them all; 'S', 'D' = it waits. Returns 0 when the file cannot be read. Opens a file,
 * which takes some microseconds. Sampler, outside the window. */
char strobe_linux_thread_state(uint32_t tid);

/* Parses the begin of a line of /proc/PID/task/TID/syscall. Returns the system call in which the thread waits
 * (strobe_wait_call, of this machine). Returns 0 for a thread that runs or waits outside of system calls, for a call
 * that the kernel restarted after a signal (it has lost its number), and for a line of another form. Any context. */
uint64_t strobe_linux_parse_wait_call(const char *line);

/* Parses a line of /proc/PID/task/TID/syscall. Returns true when the thread waits with its instruction outside of
 * [low, high). A thread that runs, and a line of another form, return false. Any context. */
bool strobe_linux_waits_outside(const char *line, uint64_t low, uint64_t high);

#endif
