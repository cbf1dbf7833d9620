/* Texts of options in which {pid} stands for a process id. Any context. */
#ifndef STROBE_BASE_PID_TEXT_H
#define STROBE_BASE_PID_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies a text with the process id in place of each {pid}. Returns false when it is empty or does not fit. */
bool strobe_insert_pid(const char *text, size_t bytes, uint32_t pid, char *out, size_t out_bytes);

#endif
