/* Native methods of the boot class path that the runtime itself implements: JNI functions, bound by name when classes
 * are opened. Missing ones stay unbound and throw UnsatisfiedLinkError. */
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

/* Each ends with an entry of name NULL. Unsafe's entries have no class, because the class has one of two names. */
extern const struct fake_native fake_natives_lang[], fake_natives_text[], fake_natives_unsafe[];

/* Binds the methods of all classes found. Call after the class path is open. */
void fake_natives_bind(void);

#endif
