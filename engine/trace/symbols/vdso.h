/* The vDSO as a file. It is in no file system, but this process has the same vDSO as the recorded program if the kernel
 * is the same. Reading half. */
#ifndef STROBE_TRACE_SYMBOLS_VDSO_H
#define STROBE_TRACE_SYMBOLS_VDSO_H

/* Returns a new descriptor of a file in memory with the vDSO's ELF image; -1 if there is none. The caller closes it,
 * and must compare build ids before it uses the names. */
int strobe_vdso_open(void);

#endif
