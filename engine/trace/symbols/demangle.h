/* Demangles names of C++ and Rust functions with GNU libiberty, which supports the Itanium C++ ABI and both manglings
 * of Rust (legacy and v0). Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_DEMANGLE_H
#define STROBE_TRACE_SYMBOLS_DEMANGLE_H

/* Returns the readable form of `name`, which the caller frees; NULL if it is not mangled, if its readable form is
 * empty, or out of memory. The hash at the end of legacy Rust names is left out. */
char *strobe_demangle(const char *name);

#endif
