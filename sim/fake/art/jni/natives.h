/* Native methods of the boot class path that the runtime itself has: JNI functions, bound by name as classes are
 * opened. What is missing stays unbound, and throws UnsatisfiedLinkError. */
#ifndef STROBE_SIM_FAKE_ART_JNI_NATIVES_H
#define STROBE_SIM_FAKE_ART_JNI_NATIVES_H

#include "sim/fake/art/jni/jni.h"

struct fake_native {
    const char *class, *name, *signature;
    void (*function)(void);
};

#define FAKE_BOUND(class, name, signature, function)                                                                   \
    {                                                                                                                  \
        class, name, signature, (void (*)(void))(uintptr_t)(function)                                                  \
    }

/* Each ends with an entry of name NULL. Unsafe's are for the class of either name, and have none. */
extern const struct fake_native fake_natives_lang[], fake_natives_text[], fake_natives_unsafe[];

/* After the class path is open: classes that are found have their methods bound. */
void fake_natives_bind(void);

#endif
