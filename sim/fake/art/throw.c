#include "sim/fake/art/dex/interpret.h"

#include <stdio.h>
#include <stdlib.h>

static void throwable_set_reference(struct fake_object *o, const char *name, const char *type,
                                    const struct fake_object *value)
{
    struct fake_field *f = fake_class_field(fake_class_of(o), name, type, false);
    if (f)
        FAKE_AT(o, f->offset, fake_ref) = fake_ref_of(value);
}

static struct fake_object *static_reference(const char *class, const char *name, const char *type)
{
    struct fake_class *c = fake_class_find(class);
    struct fake_field *f = c ? fake_class_field(c, name, type, true) : NULL;
    return f ? fake_object(FAKE_AT(c->mirror, f->offset, fake_ref)) : NULL;
}

/* ---- the stack in an exception ---- */

/* Returns the first frame that does not belong to the construction of the exception. */
static struct fake_frame *throwing_frame(struct fake_thread *self)
{
    struct fake_class *throwable = fake_class_find("Ljava/lang/Throwable;");
    struct fake_frame *f = fake_frame_top(self);
    while (f && (!f->method || (throwable && fake_class_is(f->method->class, throwable) &&
                                (f->method->flags & (FAKE_ACC_CONSTRUCTOR | FAKE_ACC_NATIVE)))))
        f = f->outer;
    return f;
}

struct fake_object *fake_backtrace(struct fake_thread *self)
{
    uint32_t depth = 0;
    struct fake_frame *top = throwing_frame(self);
    for (struct fake_frame *f = top; f; f = f->outer)
        depth += f->method != NULL;
    struct fake_class *objects = fake_class_find("[Ljava/lang/Object;"), *longs = fake_class_find("[J");
    uint32_t mark = fake_local_mark(self);
    struct fake_object *trace = fake_array_new(self, objects, (int32_t)depth + 1, fake_alloc_slow);
    if (!trace)
        return NULL;
    fake_local_ref(self, trace);
    struct fake_object *numbers = fake_array_new(self, longs, 2 * (int32_t)depth, fake_alloc_slow);
    fake_local_release(self, mark);
    if (!numbers)
        return NULL;
    fake_ref *classes = fake_elements(trace, objects);
    uint64_t *places = fake_elements(numbers, longs);
    classes[0] = fake_ref_of(numbers);
    uint32_t at = 0;
    for (struct fake_frame *f = top; f; f = f->outer) {
        if (!f->method)
            continue;
        classes[at + 1] = fake_ref_of(f->method->class->mirror);
        places[at] = (uintptr_t)fake_method_art(f->method);
        places[depth + at++] = f->dex_pc;
    }
    return trace;
}

/* ---- throwing ---- */

/* This exception is made without running Java code, because there is no stack left for it. */
void fake_throw_overflow(struct fake_thread *self)
{
    uint32_t mark = fake_local_mark(self);
    struct fake_class *c = fake_class_find("Ljava/lang/StackOverflowError;");
    FAKE_CHECK(c);
    struct fake_object *thrown = fake_alloc_slow(self, c, c->object_bytes);
    if (thrown) {
        fake_local_ref(self, thrown);
        struct fake_object *message = fake_string_new(self, "stack size 8192KB");
        if (message)
            throwable_set_reference(thrown, "detailMessage", "Ljava/lang/String;", message);
        throwable_set_reference(thrown, "cause", "Ljava/lang/Throwable;", thrown);
        throwable_set_reference(thrown, "suppressedExceptions", "Ljava/util/List;",
                                static_reference("Ljava/util/Collections;", "EMPTY_LIST", "Ljava/util/List;"));
        struct fake_object *trace = message ? fake_backtrace(self) : NULL;
        if (trace)
            throwable_set_reference(thrown, "backtrace", "Ljava/lang/Object;", trace);
        throwable_set_reference(
            thrown, "stackTrace", "[Ljava/lang/StackTraceElement;",
            static_reference("Llibcore/util/EmptyArray;", "STACK_TRACE_ELEMENT", "[Ljava/lang/StackTraceElement;"));
        fake_set_exception(self, thrown);
    }
    fake_local_release(self, mark);
}

static void construct_throwable(struct fake_thread *self, struct fake_class *c, const char *message)
{
    struct fake_object *thrown = fake_object_new(self, c, fake_alloc_slow);
    if (!thrown)
        return;
    fake_local_ref(self, thrown);
    struct fake_object *text = message ? fake_string_new(self, message) : NULL;
    if (message && !text)
        return;
    struct fake_method *init = fake_class_declared(c, "<init>", text ? "(Ljava/lang/String;)V" : "()V");
    if (!init) {
        fprintf(stderr, "fake libart: %s has no constructor for a message\n", c->descriptor);
        abort();
    }
    union fake_value arguments[2] = {{.l = fake_ref_of(thrown)}, {.l = fake_ref_of(text)}}, nothing;
    if (fake_invoke(self, init, arguments, &nothing))
        fake_set_exception(self, thrown);
}

void fake_throw(struct fake_thread *self, const char *descriptor, const char *message)
{
    fake_set_exception(self, NULL);
    struct fake_class *c = fake_class_find(descriptor);
    if (!c) {
        fprintf(stderr, "fake libart: the class path has no %s, which is to be thrown: %s\n", descriptor,
                message ? message : "");
        abort();
    }
    if (strcmp(descriptor, "Ljava/lang/StackOverflowError;") == 0) {
        fake_throw_overflow(self);
        return;
    }
    uint32_t mark = fake_local_mark(self);
    construct_throwable(self, c, message);
    fake_local_release(self, mark);
}
