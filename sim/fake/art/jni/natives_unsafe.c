/* Natives of Unsafe: parking and unparking threads, fields by offset, memory outside the heap. */
#include "sim/fake/art/jni/natives.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void unsafe_park(struct strobe_jni *env, void *this, uint8_t is_absolute, int64_t time)
{
    (void)this;
    bool was = fake_enter(env);
    fake_thread_park(env->self, is_absolute, time);
    fake_leave(env, was);
}

static void unsafe_unpark_thread(struct fake_thread *t, void *ctx)
{
    (void)ctx;
    fake_thread_unpark(t);
}

static void unsafe_unpark(struct strobe_jni *env, void *this, void *peer)
{
    (void)this;
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, peer);
    if (o)
        fake_with_thread(o, unsafe_unpark_thread, NULL);
    else
        fake_throw(env->self, "Ljava/lang/IllegalArgumentException;", "Argument to unsafe_unpark() was not a Thread");
    fake_leave(env, was);
}

static void *unsafe_address(struct strobe_jni *env, void *jobject, int64_t offset)
{
    struct fake_object *o = fake_decode(env->self, jobject);
    FAKE_CHECK(o);
    return (char *)o + offset;
}

#define ACCESS(name, type)                                                                                             \
    static type unsafe_get_##name(struct strobe_jni *env, void *this, void *o, int64_t offset)                         \
    {                                                                                                                  \
        (void)this;                                                                                                    \
        bool was = fake_enter(env);                                                                                    \
        type value;                                                                                                    \
        __atomic_load((type *)unsafe_address(env, o, offset), &value, __ATOMIC_SEQ_CST);                               \
        fake_leave(env, was);                                                                                          \
        return value;                                                                                                  \
    }                                                                                                                  \
    static void unsafe_put_##name(struct strobe_jni *env, void *this, void *o, int64_t offset, type value)             \
    {                                                                                                                  \
        (void)this;                                                                                                    \
        bool was = fake_enter(env);                                                                                    \
        __atomic_store((type *)unsafe_address(env, o, offset), &value, __ATOMIC_SEQ_CST);                              \
        fake_leave(env, was);                                                                                          \
    }                                                                                                                  \
    static type unsafe_peek_##name(struct strobe_jni *env, void *this, int64_t address)                                \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        (void)this;                                                                                                    \
        return *(type *)(uintptr_t)address;                                                                            \
    }                                                                                                                  \
    static void unsafe_poke_##name(struct strobe_jni *env, void *this, int64_t address, type value)                    \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        (void)this;                                                                                                    \
        *(type *)(uintptr_t)address = value;                                                                           \
    }

ACCESS(byte, int8_t)
ACCESS(short, int16_t)
ACCESS(char, uint16_t)
ACCESS(int, int32_t)
ACCESS(long, int64_t)
ACCESS(float, float)
ACCESS(double, double)

static void *unsafe_get_object(struct strobe_jni *env, void *this, void *o, int64_t offset)
{
    (void)this;
    bool was = fake_enter(env);
    fake_ref l = __atomic_load_n((fake_ref *)unsafe_address(env, o, offset), __ATOMIC_SEQ_CST);
    void *got = fake_local_ref(env->self, fake_object(l));
    fake_leave(env, was);
    return got;
}

static void unsafe_put_object(struct strobe_jni *env, void *this, void *o, int64_t offset, void *value)
{
    (void)this;
    bool was = fake_enter(env);
    fake_ref l = fake_ref_of(fake_decode(env->self, value));
    __atomic_store_n((fake_ref *)unsafe_address(env, o, offset), l, __ATOMIC_SEQ_CST);
    fake_leave(env, was);
}

static uint8_t swap_int(struct strobe_jni *env, void *this, void *o, int64_t offset, int32_t from, int32_t to)
{
    (void)this;
    bool was = fake_enter(env);
    int32_t *place = unsafe_address(env, o, offset);
    bool swapped = __atomic_compare_exchange_n(place, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    fake_leave(env, was);
    return swapped;
}

static uint8_t swap_long(struct strobe_jni *env, void *this, void *o, int64_t offset, int64_t from, int64_t to)
{
    (void)this;
    bool was = fake_enter(env);
    int64_t *place = unsafe_address(env, o, offset);
    bool swapped = __atomic_compare_exchange_n(place, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    fake_leave(env, was);
    return swapped;
}

static uint8_t swap_object(struct strobe_jni *env, void *this, void *o, int64_t offset, void *from, void *to)
{
    (void)this;
    bool was = fake_enter(env);
    fake_ref *place = unsafe_address(env, o, offset), expected = fake_ref_of(fake_decode(env->self, from));
    fake_ref wanted = fake_ref_of(fake_decode(env->self, to));
    bool swapped = __atomic_compare_exchange_n(place, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    fake_leave(env, was);
    return swapped;
}

static int32_t array_base(struct strobe_jni *env, void *class, void *component)
{
    (void)class;
    bool was = fake_enter(env);
    char type = fake_decode_class(env, component)->primitive;
    fake_leave(env, was);
    return type == 'J' || type == 'D' ? 16 : 12;
}

static int32_t array_scale(struct strobe_jni *env, void *class, void *component)
{
    (void)class;
    bool was = fake_enter(env);
    char type = fake_decode_class(env, component)->primitive;
    fake_leave(env, was);
    return type == 'J' || type == 'D' ? 8 : type == 'S' || type == 'C' ? 2 : type == 'Z' || type == 'B' ? 1 : 4;
}

static int32_t address_size(void)
{
    return (int32_t)sizeof(void *);
}
static int32_t page_size(void)
{
    return (int32_t)sysconf(_SC_PAGESIZE);
}
static void unsafe_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static int64_t unsafe_allocate(struct strobe_jni *env, void *this, int64_t bytes)
{
    (void)env;
    (void)this;
    return (int64_t)(uintptr_t)malloc((size_t)bytes);
}

static void unsafe_release(struct strobe_jni *env, void *this, int64_t address)
{
    (void)env;
    (void)this;
    free((void *)(uintptr_t)address);
}

static void set_memory(struct strobe_jni *env, void *this, int64_t address, int64_t bytes, int8_t value)
{
    (void)env;
    (void)this;
    memset((void *)(uintptr_t)address, value, (size_t)bytes);
}

static void copy_memory(struct strobe_jni *env, void *this, int64_t from, int64_t to, int64_t bytes)
{
    (void)env;
    (void)this;
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, (size_t)bytes);
}

#define OBJECT "Ljava/lang/Object;"
#define FIELD(Name, type, name)                                                                                        \
    FAKE_BOUND(NULL, "get" Name, "(" OBJECT "J)" type, unsafe_get_##name),                                             \
        FAKE_BOUND(NULL, "put" Name, "(" OBJECT "J" type ")V", unsafe_put_##name)
#define MEMORY(Name, type, name)                                                                                       \
    FIELD(Name, type, name), FAKE_BOUND(NULL, "get" Name, "(J)" type, unsafe_peek_##name),                             \
        FAKE_BOUND(NULL, "put" Name, "(J" type ")V", unsafe_poke_##name)
#define SWAP(Name, type, function) FAKE_BOUND(NULL, Name, "(" OBJECT "J" type type ")Z", function)

const struct fake_native fake_natives_unsafe[] = {
    FAKE_BOUND(NULL, "park", "(ZJ)V", unsafe_park),
    FAKE_BOUND(NULL, "unpark", "(" OBJECT ")V", unsafe_unpark),
    FIELD("Boolean", "Z", byte),
    MEMORY("Byte", "B", byte),
    MEMORY("Short", "S", short),
    MEMORY("Char", "C", char),
    MEMORY("Int", "I", int),
    MEMORY("Long", "J", long),
    MEMORY("Float", "F", float),
    MEMORY("Double", "D", double),
    FIELD("IntVolatile", "I", int),
    FIELD("LongVolatile", "J", long),
    FIELD("Object", OBJECT, object),
    FIELD("ObjectVolatile", OBJECT, object),
    FIELD("Reference", OBJECT, object),
    FIELD("ReferenceVolatile", OBJECT, object),
    FAKE_BOUND(NULL, "putOrderedInt", "(" OBJECT "JI)V", unsafe_put_int),
    FAKE_BOUND(NULL, "putOrderedLong", "(" OBJECT "JJ)V", unsafe_put_long),
    FAKE_BOUND(NULL, "putOrderedObject", "(" OBJECT "J" OBJECT ")V", unsafe_put_object),
    SWAP("compareAndSwapInt", "I", swap_int),
    SWAP("compareAndSetInt", "I", swap_int),
    SWAP("compareAndSwapLong", "J", swap_long),
    SWAP("compareAndSetLong", "J", swap_long),
    SWAP("compareAndSwapObject", OBJECT, swap_object),
    SWAP("compareAndSetReference", OBJECT, swap_object),
    FAKE_BOUND(NULL, "getArrayBaseOffsetForComponentType", "(Ljava/lang/Class;)I", array_base),
    FAKE_BOUND(NULL, "getArrayIndexScaleForComponentType", "(Ljava/lang/Class;)I", array_scale),
    FAKE_BOUND(NULL, "addressSize", "()I", address_size),
    FAKE_BOUND(NULL, "pageSize", "()I", page_size),
    FAKE_BOUND(NULL, "loadFence", "()V", unsafe_fence),
    FAKE_BOUND(NULL, "storeFence", "()V", unsafe_fence),
    FAKE_BOUND(NULL, "fullFence", "()V", unsafe_fence),
    FAKE_BOUND(NULL, "allocateMemory", "(J)J", unsafe_allocate),
    FAKE_BOUND(NULL, "freeMemory", "(J)V", unsafe_release),
    FAKE_BOUND(NULL, "setMemory", "(JJB)V", set_memory),
    FAKE_BOUND(NULL, "copyMemory", "(JJJ)V", copy_memory),
    {0},
};
