/* Unwinding by the call frame information that every Debian binary carries (.eh_frame), for programs built without
 * frame pointers. By libunwind, loaded into a scope of its own, so that its backtrace() and _Unwind_* do not take the
 * place of the program's.
 *
 * The calling thread's own stack: unw_backtrace, whose per-thread cache makes a known frame cost a few ns. A stopped
 * thread's: libunwind's generic unwinder over the copied registers and stack memory, after the thread has been let
 * go, so that nothing it may hold is waited for. Meeting code for the first time takes the dynamic linker's lock and
 * maps memory. */
#ifndef STROBE_BACKEND_LINUX_UNWIND_DWARF_H
#define STROBE_BACKEND_LINUX_UNWIND_DWARF_H

#include "engine/capture/engine.h"

/* Loads libunwind. NULL when it is not installed. Start only; may allocate. */
const struct strobe_unwinder *strobe_linux_unwinder_dwarf(void);

#endif
