/* The hooks of an attached library: which slots of the program and its libraries lead to them.
 *
 * The library exchanges slots of calls only (JUMP_SLOT). A slot of data, or one from which the program may load a
 * function's address to keep it, could lead to the library after it was unloaded. So calls of code that was compiled
 * with -fno-plt are not hooked.
 *
 * Some hooks of the preloaded library have no place here: those of exec and _exit (the session is readable without an
 * end), posix_spawn, vfork, syscall, and the functions of -finstrument-functions. */
#ifndef STROBE_BACKEND_LINUX_ATTACH_SLOTS_H
#define STROBE_BACKEND_LINUX_ATTACH_SLOTS_H

/* Exchanges the slots. Helper, with the capture on. */
void strobe_attach_slots_begin(void);

/* Exchanges the slots of libraries that were loaded since. Helper. */
void strobe_attach_slots_renew(void);

/* Restores the slots. Hooks may still be running. Helper. */
void strobe_attach_slots_end(void);

#endif
