/* Readable names of C++ and Rust functions, by GNU libiberty, which knows the Itanium C++ ABI's mangling and both of
 * Rust's (legacy and v0). Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_DEMANGLE_H
#define STROBE_TRACE_SYMBOLS_DEMANGLE_H

/* The readable form of `name`, the caller's to free; NULL when it is not mangled, or out of memory. The hash at the
 * end of legacy Rust names is left out. */
char *strobe_demangle(const char *name);

#endif
