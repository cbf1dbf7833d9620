/* A fake of Android's runtime: a libart.so for each level from 7.0 (24) to 16 (36), with the runtime's mangled names,
 * calling conventions and memory layouts, as far as a tracer sees them. It runs the same dex files as genuine runtimes.
 *
 * tests/contract_art must not be able to distinguish it from the genuine runtime; a difference is a bug of the fake.
 * Parts of real runtimes that no tracer meets are missing: verification, resolution rules that our dex files do not
 * need, moving collection, compilation.
 *
 *   file        content                                                 exports (the runtime's own names)
 *   ---------   ------------------------------------------------------   ---------------------------------------------
 *   layout      offsets of every structure, by level: one table          -
 *   dex, class  dex files, classes (link, resolve), methods, fields,     ArtMethod::PrettyMethod
 *               strings (text), names (pretty)
 *   interpret   executes code, with shadow or quick frames; native       artQuickGenericJniTrampoline
 *               calls, exceptions (throw)
 *   jni         JNIEnv and JavaVM tables, references                     JNI_CreateJavaVM, JNI_GetCreatedJavaVMs
 *   natives     natives of java.lang                                     -
 *   thread      Thread: life, states, suspend count, checkpoints         Thread::CurrentFromGdb, Thread::Park, ...
 *   list, all   ThreadList: suspend by id and by peer, all, checkpoint   ThreadList::...
 *   stack       managed stack fragments, frames                          -
 *   visitor     StackVisitor                                             StackVisitor::..., Context::Create
 *   monitor     lock words, inflation, Monitor: lock, wait, notify       Monitor::...
 *   heap        allocation, entry points, listener, collection           Heap::..., Instrumentation::..., ...
 *   callbacks   RuntimeCallbacks                                         RuntimeCallbacks::...
 *   runtime     Runtime, JavaVMExt in memory with the level's layout     Runtime::instance_
 *   system      threads, mutexes, time: pthreads, or a replacement       fake_use_system
 *
 * The library of each level is linked from the same objects, with one word of its own, fake_level. The script `level`
 * links it and reads its exports from symbols.txt. Structures that a tracer reads (Thread, Runtime, ArtMethod,
 * StackVisitor, ManagedStack, ShadowFrame, mirror::Object) have the level's layout and are accessed by offset. The
 * fake's own data lies beside them.
 *
 * Object references have 32 bits, like the runtime's: the heap and the classes are in the low 4 GiB.
 *
 * Tests cause rare events by environment variables. FAKE_ART_SUSPEND_TIMEOUT_MS is the time limit of a suspension
 * (list). FAKE_ART_DECOYS selects what Runtime contains in place of the JavaVM, or beside it (runtime). */
#ifndef STROBE_SIM_FAKE_ART_FAKE_H
#define STROBE_SIM_FAKE_ART_FAKE_H

#include "engine/base/error.h"
#include "sim/fake/art/system.h"

/* An exported function: by its mangled name, never inlined or copied, so that a patch of it catches every call. */
#ifdef __clang__
#define FAKE_EXPORT(mangled) __asm__(mangled) __attribute__((visibility("default"), noinline))
#else
#define FAKE_EXPORT(mangled) __asm__(mangled) __attribute__((visibility("default"), noipa))
#endif

/* The same function under the name that it has at other levels. */
#define FAKE_EXPORT_ALSO(function, mangled, also)                                                                      \
    extern __typeof__(function) function##_also __asm__(also) __attribute__((alias(mangled), visibility("default")))

extern const int fake_level; /* 24 .. 36: the level of this library */

/* ---- layout ---- */

struct fake_layout {
    /* bytes from the begin of each structure; 0xffff = not at this level */
    uint16_t visitor_bytes, visitor_thread, visitor_kind, visitor_shadow, visitor_quick, visitor_quick_pc,
        visitor_header, visitor_frames, visitor_depth, visitor_inline_depth, visitor_context, visitor_check;
    uint16_t thread_bytes, thread_state_flags, thread_suspend_count, thread_thin_lock_id, thread_tid, thread_stack_end,
        thread_managed_stack, thread_jni_env, thread_self, thread_peer, thread_card_table, thread_exception;
    uint16_t managed_quick, managed_link, managed_shadow;
    uint16_t shadow_link, shadow_method, shadow_dex_pc_ptr, shadow_count, shadow_dex_pc, shadow_registers;
    uint16_t method_bytes, method_class, method_flags, method_dex_index, method_data, method_quick_code;
    uint16_t runtime_bytes, runtime_java_vm, runtime_thread_list, runtime_class_linker, runtime_heap;
    uint16_t vm_runtime; /* JavaVMExt */
};
extern const struct fake_layout *fake_layout; /* for fake_level; set before anything else */

#define FAKE_AT(base, offset, type) (*(type *)((char *)(base) + (offset)))

/* ---- objects ---- */

typedef uint32_t fake_ref; /* 0 = null */
struct fake_object {
    fake_ref class;
    uint32_t lock_word;
};                  /* then fields */
struct fake_thread; /* begins with the level's Thread; the fake's data follows */
struct fake_class;  /* fake's data of a class; its mirror is the java.lang.Class object */
struct fake_method; /* fake's data of a method; its ArtMethod is art_method(m) */
struct fake_monitor;

static inline struct fake_object *fake_object(fake_ref r)
{
    return (struct fake_object *)(uintptr_t)r;
}
static inline fake_ref fake_ref_of(const void *o)
{
    return (fake_ref)(uintptr_t)o;
}

/* ---- dex, class ---- */

/* Maps and checks a dex file and defines its classes. Returns false, with a line in `error`, on failure. */
bool fake_dex_open(const char *path, struct strobe_error *error);
struct fake_class *fake_class_find(const char *descriptor);         /* "Ljava/lang/Object;"; NULL = none */
struct fake_class *fake_class_of(const struct fake_object *object); /* of a Class object: java.lang.Class */
struct fake_class *fake_class_mirrored(const struct fake_object *class_object);
struct fake_object *fake_class_mirror(struct fake_class *c);
bool fake_class_initialize(struct fake_thread *self, struct fake_class *c); /* false: exception pending */
bool fake_class_is(const struct fake_class *c, const struct fake_class *super);
const char *fake_class_descriptor(const struct fake_class *c);
uint32_t fake_class_object_bytes(const struct fake_class *c);
struct fake_method *fake_class_method(struct fake_class *c, const char *name, const char *signature, bool is_static);
/* Finds a field of a class or of a class that it extends; NULL = none. The second function returns its offset from the
 * begin of the object, or, for a static field, from the begin of its class's mirror. */
struct fake_field *fake_class_field(struct fake_class *c, const char *name, const char *signature, bool is_static);
uint32_t fake_field_offset(const struct fake_field *f);
void *fake_method_art(const struct fake_method *m);         /* its ArtMethod */
struct fake_method *fake_method_of(const void *art_method); /* NULL: a pseudo-method, or none */
void *fake_pseudo_method(void);                             /* ART's callee-save frames have this method */
/* Make strings. NULL: OutOfMemoryError pending. Text is the runtime's modified UTF-8, cut to fit. */
struct fake_object *fake_string_new(struct fake_thread *self, const char *text);
void fake_string_text(const struct fake_object *string, char *out, size_t bytes);
/* Visits every reference that classes hold (statics, mirrors, strings), for the collector. Mirrors are outside the heap
 * and are never freed. */
void fake_class_roots(void (*visit)(fake_ref *, void *), void *ctx);
/* Visits the references in an object. */
void fake_object_references(struct fake_object *o, void (*visit)(fake_ref *, void *), void *ctx);

/* ---- interpret ---- */

union fake_value {
    int32_t i;
    int64_t j;
    float f;
    double d;
    fake_ref l;
};

/* Runs a method with its arguments (`this` first). Returns false with an exception pending. fake_quick_frames selects
 * the kind of its frames. */
bool fake_invoke(struct fake_thread *self, struct fake_method *m, const union fake_value *arguments,
                 union fake_value *result);
extern bool fake_quick_frames;   /* methods get quick frames (like nterp); else shadow frames (-Xint) */
extern bool fake_inlined_frames; /* with quick frames: small static callees are shown as inlined into their caller */

/* Throws a new exception of a class. The stack trace is allocated, which runs hooks, as in the runtime. */
void fake_throw(struct fake_thread *self, const char *descriptor, const char *message);

/* ---- jni ---- */

/* Makes an environment, as the runtime does: table, thread, JavaVM. JNI_CreateJavaVM calls fake_runtime_new with the
 * JavaVM's table, opens the dex files, and then attaches the main thread. */
struct strobe_jni *fake_jni_new(struct fake_thread *self);
void fake_jni_free(struct strobe_jni *env);
void fake_jni_roots(struct strobe_jni *env, void (*visit)(fake_ref *, void *), void *ctx);
void fake_global_roots(void (*visit)(fake_ref *, void *), void *ctx);
void fake_weak_sweep(bool (*lives)(const struct fake_object *, void *),
                     void *ctx); /* clears references to dead objects */
struct fake_object *fake_decode(struct fake_thread *self, void *jobject);
void *fake_local_ref(struct fake_thread *self, struct fake_object *o);
/* C code that holds an object across a possible collection makes a local reference to it, and later releases all
 * references made since the mark. */
uint32_t fake_local_mark(struct fake_thread *self);
void fake_local_release(struct fake_thread *self, uint32_t mark);

/* ---- runtime ---- */

/* Makes the Runtime with its thread list, class linker and heap, and returns the JavaVM. Call once.
 *
 * Tracers find these objects by their content (engine/backend/art/discover.h), so the fake has the same content:
 *
 *   ThreadList   after 8 KiB of thin-lock id bits, a std::list of all its Threads (head { next, prev }, nodes { next,
 *                prev, Thread * }, a ring)
 *   Runtime      in the word after its thread list, an InternTable *, which is also in the first KiB of the ClassLinker
 *   Heap         in its first KiB, a CardTable *. The first 128 bytes of the CardTable have a word that ends in 0x70
 *                and is also in each Thread, two words before its stack end; the word after it is less than 256 */
struct strobe_jvm *fake_runtime_new(const void *const *vm_table);
struct strobe_jvm *fake_vm(void); /* NULL: there is none */

/* ---- thread, list ---- */

enum fake_state {
    FAKE_RUNNABLE,
    FAKE_NATIVE,
    FAKE_WAITING,
    FAKE_TIMED_WAITING,
    FAKE_SLEEPING,
    FAKE_BLOCKED,
    FAKE_SUSPENDED,
    FAKE_WAITING_FOR_GC
};

struct fake_thread *fake_self(void); /* NULL: not attached */
/* Attaches the calling thread in state NATIVE, with a java.lang.Thread as its peer. */
struct fake_thread *fake_thread_attach(const char *name, bool as_daemon, bool is_main);
void fake_thread_detach(struct fake_thread *self);
struct fake_thread *fake_thread_start(struct fake_thread *self, fake_ref peer); /* Thread.nativeCreate; NULL: no memory;
                                                                                   the thread may have ended already */
struct fake_object *fake_thread_peer(struct fake_thread *t);                    /* its java.lang.Thread */
/* Visits the thread of a java.lang.Thread with the list locked, so that the thread cannot end. Returns false when it
 * has no thread. */
bool fake_with_thread(const struct fake_object *peer, void (*visit)(struct fake_thread *, void *), void *ctx);
void fake_thread_set_name(struct fake_thread *self, const char *name);
struct strobe_jni *fake_thread_env(struct fake_thread *t);
uint32_t fake_thread_id(const struct fake_thread *t); /* thin-lock id */
bool fake_runnable(const struct fake_thread *self);
void fake_to_native(struct fake_thread *self, enum fake_state state); /* leaves RUNNABLE */
void fake_to_runnable(struct fake_thread *self);                      /* waits while suspended */
void fake_suspend_check(struct fake_thread *self);                    /* a suspension point; runs checkpoints */
struct fake_object *fake_exception(struct fake_thread *self);         /* pending; NULL = none */
void fake_set_exception(struct fake_thread *self, struct fake_object *o);
bool fake_interrupted(struct fake_thread *self, bool clear);
void fake_thread_note_wait(struct fake_thread *self); /* counts a wait of the calling thread, see fake_own_waits */
void fake_interrupt(struct fake_thread *t);
void fake_thread_park(struct fake_thread *self, bool is_absolute, int64_t time) FAKE_EXPORT("_ZN3art6Thread4ParkEbl");
void fake_post_thread_start(struct fake_thread *self) FAKE_EXPORT("_ZN3art3Dbg15PostThreadStartEPNS_6ThreadE");
void fake_post_thread_death(struct fake_thread *self) FAKE_EXPORT("_ZN3art3Dbg15PostThreadDeathEPNS_6ThreadE");
void fake_thread_unpark(struct fake_thread *t) FAKE_EXPORT("_ZN3art6Thread6UnparkEv");
size_t fake_stack_left(struct fake_thread *self); /* bytes, without the reserve for overflow */
void fake_for_each_thread(void (*visit)(struct fake_thread *, void *), void *ctx); /* with the list locked */
void fake_suspend_all(struct fake_thread *self); /* RUNNABLE threads stop; self continues */
void fake_resume_all(struct fake_thread *self);
/* Suspends by thin-lock id, through the level's exported SuspendThreadByThreadId; self is not RUNNABLE. NULL: the
 * thread is gone, or did not stop in time. */
struct fake_thread *fake_suspend_by_id(struct fake_thread *self, uint32_t id);
void fake_resume(struct fake_thread *self, struct fake_thread *t); /* through the exported Resume */

/* The data of a thread that monitors and the heap keep, a part of fake_thread. It is zero except for what
 * fake_parts_start sets. The creator of a thread calls fake_parts_start before the thread is on the list. */
struct fake_parts *fake_thread_parts(struct fake_thread *t);
void fake_parts_start(struct fake_thread *t);

/* ---- stack: fragments and frames of a thread's managed stack ---- */

struct fake_frame { /* on the interpreter's own stack, one for each activation */
    struct fake_frame *outer;
    struct fake_method *method; /* NULL: a callee-save frame of the runtime, which is a quick frame */
    uint32_t dex_pc, register_count;
    uint32_t *registers;  /* references among them look like references, because the collector is conservative */
    void *memory;         /* the ShadowFrame or the quick frame, in the level's layout */
    bool shadow, inlined; /* set by the function that pushes it; inlined: into the frame below it, a quick frame */
};

/* Enters managed code from native code (a new fragment), and leaves it. */
struct fake_fragment {
    void *memory[4];
};
void fake_fragment_push(struct fake_thread *self, struct fake_fragment *f);
void fake_fragment_pop(struct fake_thread *self, struct fake_fragment *f);

/* Returns the bytes of memory that a frame's structure needs, on the caller's stack and aligned for pointers. */
size_t fake_frame_bytes(uint32_t register_count);
/* Makes the structure in frame->memory, with zeroed registers in frame->registers. A frame of another kind than those
 * below it gets its own fragment, and so does a native method's frame on shadow frames. While a native method runs, its
 * frame is the top one and has the tag of the generic JNI stub. */
void fake_frame_push(struct fake_thread *self, struct fake_frame *f);
void fake_frame_pop(struct fake_thread *self, struct fake_frame *f);
void fake_frame_at(struct fake_thread *self, struct fake_frame *f, uint32_t dex_pc);
struct fake_frame *fake_frame_top(struct fake_thread *t);

/* ---- monitor ---- */

bool fake_monitor_enter(struct fake_thread *self, struct fake_object *o); /* through the exported MonitorEnter */
bool fake_monitor_exit(struct fake_thread *self, struct fake_object *o);  /* false: IllegalMonitorStateException
                                                                             pending */
void fake_monitor_wait(struct fake_thread *self, struct fake_object *o, int64_t ms, int32_t ns);
void fake_monitor_sleep(struct fake_thread *self, struct fake_object *lock, int64_t ms, int32_t ns); /* waits in the
                                                                                                        monitor */
void fake_monitor_notify(struct fake_thread *self, struct fake_object *o, bool all);
void fake_monitor_sweep(bool (*lives)(const struct fake_object *, void *), void *ctx); /* deflates monitors of dead
                                                                                          objects */
int32_t fake_identity_hash(struct fake_thread *self, struct fake_object *o);
void fake_monitor_interrupt(struct fake_thread *t); /* the waiter checks again; called by fake_interrupt after the flag
                                                       is set */
void fake_monitor_roots(void (*visit)(fake_ref *, void *), void *ctx); /* objects that threads enter or wait for */

/* ---- heap ---- */

/* Allocates an object, zeroed except for its class. NULL: OutOfMemoryError pending. May collect. Quick code allocates
 * through the entry point of the calling thread: the listener is notified only when that is the instrumented one. The
 * interpreter notifies the listener whenever there is one. */
struct fake_object *fake_alloc(struct fake_thread *self, struct fake_class *c, size_t bytes);
void fake_collect(struct fake_thread *self, bool is_explicit);
/* Does the same for natives and JNI: notifies the listener whenever there is one. */
struct fake_object *fake_alloc_slow(struct fake_thread *self, struct fake_class *c, size_t bytes);
void *fake_heap(void); /* the object of Runtime's heap_; opened at the first call */

/* ---- callbacks: the thread that an event happens to calls these ---- */

void fake_notify_thread_start(struct fake_thread *self); /* on the thread itself, RUNNABLE, its peer set */
void fake_notify_thread_death(struct fake_thread *self);
void fake_notify_locking(struct fake_monitor *m);
void fake_notify_locked(struct fake_monitor *m);
void fake_notify_wait_start(fake_ref *object, int64_t ms);
void fake_notify_wait_finished(struct fake_monitor *m, bool timed_out);
void fake_notify_park_start(bool is_absolute, int64_t time); /* only when there was no permit */
void fake_notify_park_finished(bool timed_out);

/* ---- system ---- */

void fake_mutex_init(struct fake_mutex *m);
void fake_mutex_lock(struct fake_mutex *m);
bool fake_mutex_trylock(struct fake_mutex *m);
void fake_mutex_unlock(struct fake_mutex *m);
void fake_cond_init(struct fake_cond *c);
bool fake_cond_wait(struct fake_cond *c, struct fake_mutex *m, uint64_t deadline_ns); /* false: the deadline has passed;
                                                                                         UINT64_MAX: no deadline */
void fake_cond_signal(struct fake_cond *c);
void fake_cond_broadcast(struct fake_cond *c);
uint64_t fake_now_ns(void);
bool fake_system_thread(void (*entry)(void *), void *arg, size_t stack_bytes);
uint32_t fake_tid(void);
void fake_yield(void);
void fake_system_name(const char *name); /* of the calling thread */
uintptr_t fake_stack_low(void);          /* of the calling thread's stack */
void fake_system_collecting(void);       /* while all others are suspended for a collection */

/* ---- of each thread ---- */

/* Its part that monitors and the heap keep; see fake_thread_parts. */
struct fake_parts {
    struct fake_mutex wait_mutex; /* protects wait_monitor; taken after a monitor's guard */
    struct fake_cond wait_cond;
    struct fake_monitor *wait_monitor; /* monitor that it sleeps in; NULL = none */
    struct fake_thread *wait_next;     /* in the monitor's wait set or wake set; protected by the monitor */
    bool woken;                        /* by a notification; protected by wait_mutex */
    fake_ref enters;                   /* the object that it waits to enter; 0 = none */
    fake_ref waits;                    /* the object that it waits on */
    struct fake_object *(*alloc)(struct fake_thread *, struct fake_class *, size_t); /* its allocation entry point */
    bool out_of_memory; /* its OutOfMemoryError is being made, from the heap's reserve */
};

/* Reports a condition that cannot occur: prints one line and aborts, like the runtime's CHECK. */
_Noreturn void fake_check_failed(const char *what, const char *file, int line);
#define FAKE_CHECK(c) ((c) ? (void)0 : fake_check_failed(#c, __FILE__, __LINE__))

#endif
