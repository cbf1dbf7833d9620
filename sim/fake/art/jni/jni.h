/* The environment of a thread, references, and functions that the files of JNI functions share. */
#ifndef STROBE_SIM_FAKE_ART_JNI_JNI_H
#define STROBE_SIM_FAKE_ART_JNI_JNI_H

#include "sim/fake/art/dex/class.h"

struct strobe_jni {
    const void *const *table;
    struct fake_thread *self;
    struct strobe_jvm *vm;
    fake_ref *locals; /* 0 = free, also beyond `used` */
    uint32_t used, room;
    uint32_t *frames; /* marks of PushLocalFrame */
    uint32_t frame_count, frame_room;
};

/* References as native code has them: an index, and the kind in the lowest bits. */
enum fake_reference { FAKE_LOCAL = 1, FAKE_GLOBAL = 2, FAKE_WEAK = 3 };

enum { FAKE_JNI_PLACES = 233 };

/* JNI functions call these: the thread is RUNNABLE in between, and gets its former state back. */
static inline bool fake_enter(struct strobe_jni *env)
{
    bool was = fake_runnable(env->self);
    if (!was)
        fake_to_runnable(env->self);
    return was;
}

static inline void fake_leave(struct strobe_jni *env, bool was)
{
    if (!was)
        fake_to_native(env->self, FAKE_NATIVE);
}

static inline struct fake_class *fake_decode_class(struct strobe_jni *env, void *jclass)
{
    return fake_class_mirrored(fake_decode(env->self, jclass));
}

void *fake_global_ref(struct fake_object *o, enum fake_reference kind);
void fake_global_free(void *ref, enum fake_reference kind);
void fake_local_free(struct strobe_jni *env, void *ref);

/* Each file enters its functions into the table. */
void fake_jni_fill_objects(const void **table);
void fake_jni_fill_calls(const void **table);
void fake_jni_fill_fields(const void **table);
void fake_jni_fill_arrays(const void **table);

#endif
