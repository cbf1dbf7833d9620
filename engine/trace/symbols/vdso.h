/* The kernel's own code in every process, as a file: it is in no file system, but this process has the same one as the
 * recorded program had, as long as the kernel is the same. Reading half. */
#ifndef STROBE_TRACE_SYMBOLS_VDSO_H
#define STROBE_TRACE_SYMBOLS_VDSO_H

/* A new descriptor of a file in memory that holds the vdso's ELF image; -1 when there is none. The caller closes it,
 * and compares build ids before it believes the names. */
int strobe_vdso_open(void);

#endif
