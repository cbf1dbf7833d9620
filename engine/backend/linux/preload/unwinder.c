/* The unwinder that runs the cleanups of hooks (STROBE_SCOPED), at a cancellation or an exception.
 *
 * Compilers refer to two functions of libgcc_s for a cleanup: to the personality routine, which finds it, and to
 * _Unwind_Resume, which continues after it. Linking libgcc_s would load it into each recorded program. That costs a
 * short program about a fifth of its CPU time, and most C programs never unwind. This file therefore defines both names
 * for the library alone. They forward to the unwinder that is at work: the image that called the personality routine.
 * It is loaded by then. C++ programs link it, and glibc loads it in pthread_cancel and pthread_exit.
 *
 * An unwinder whose image exports no such functions, for example one that is linked into the program, skips the
 * cleanups. The scopes then stay open and count as left by a jump (drop_scopes in capture/sample.c).
 *
 * Source of the interface: Itanium C++ ABI, "Exception Handling", level I. <unwind.h> is not included: it makes the
 * names visible to the program, whose own cleanups would then come here. */
#include "engine/backend/linux/preload/real.h"

#include <dlfcn.h>

#define PERSONALITY "__gcc_personality_v0"
#define RESUME      "_Unwind_Resume"

struct _Unwind_Exception;
struct _Unwind_Context;
enum { UA_CLEANUP_PHASE = 2, URC_CONTINUE_UNWIND = 8 };

typedef int personality_function(int version, int actions, uint64_t kind, struct _Unwind_Exception *thrown,
                                 struct _Unwind_Context *context);
typedef void resume_function(struct _Unwind_Exception *thrown);

personality_function __gcc_personality_v0;
resume_function _Unwind_Resume;

/* The unwinder at work on this thread. Stored before a cleanup, which ends with _Unwind_Resume. */
static __thread resume_function *resume;

/* Returns the function `name` of the loaded image that contains `address`, or NULL. */
static void *function_beside(const void *address, const char *name)
{
    Dl_info image;
    if (!dladdr(address, &image) || !image.dli_fname)
        return NULL;
    void *handle = strobe_real()->dlopen(image.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return NULL;
    void *found = dlsym(handle, name);
    strobe_real()->dlclose(handle); /* the image stays loaded: it is executing */
    return found;
}

int __gcc_personality_v0(int version, int actions, uint64_t kind, struct _Unwind_Exception *thrown,
                         struct _Unwind_Context *context)
{
    const void *caller = __builtin_return_address(0);
    personality_function *personality = (personality_function *)(uintptr_t)function_beside(caller, PERSONALITY);
    if (personality && (actions & UA_CLEANUP_PHASE))
        resume = (resume_function *)(uintptr_t)function_beside(caller, RESUME);
    if (!personality || ((actions & UA_CLEANUP_PHASE) && !resume))
        return URC_CONTINUE_UNWIND;
    return personality(version, actions, kind, thrown, context);
}

void _Unwind_Resume(struct _Unwind_Exception *thrown)
{
    resume(thrown);
    __builtin_unreachable();
}
