/* The native methods of strobe.Strobe (java/strobe/Strobe.java). */
#include "engine/backend/art/app.h"

#include "engine/base/error.h"
#include "engine/capture/engine.h"
#include "engine/control/socket.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    REPLACE = 1, /* as in Strobe.java */
    PAUSED = 2,
    KEEP_OLDEST = 4,
    CONTROL = 8,
    SECTION_CHARS = 126, /* of a section's name: the engine keeps 126 bytes */
    CHAR_BYTES = 3,      /* most bytes of a UTF-16 unit in modified UTF-8 */
    PATH_CHARS = 1023,
    STATUS_BYTES = 4096,
};

/* ---- strings ---- */

/* Copies at most `chars` UTF-16 units of a string to `out`, which has room for CHAR_BYTES bytes of each and a NUL. A
 * null string gives "". The units are copied, because the runtime may have to allocate for pointers to them. */
static void read_java_string(struct strobe_jni *env, strobe_jobject string, int32_t chars, char *out)
{
    int32_t (*length)(struct strobe_jni *, strobe_jobject) =
        (int32_t(*)(struct strobe_jni *, strobe_jobject))(uintptr_t)strobe_jni_at(env, STROBE_JNI_GET_STRING_LENGTH);
    void (*copy)(struct strobe_jni *, strobe_jobject, int32_t, int32_t, char *) =
        (void (*)(struct strobe_jni *, strobe_jobject, int32_t, int32_t, char *))(uintptr_t)strobe_jni_at(
            env, STROBE_JNI_GET_STRING_UTF_REGION);
    int32_t n = string ? length(env, string) : 0;
    memset(out, 0, (size_t)chars * CHAR_BYTES + 1); /* the function stores no NUL on old levels */
    if (n)
        copy(env, string, 0, n < chars ? n : chars, out);
}

static strobe_jobject make_java_string(struct strobe_jni *env, const char *text)
{
    strobe_jobject (*make)(struct strobe_jni *, const char *) =
        (strobe_jobject(*)(struct strobe_jni *, const char *))(uintptr_t)strobe_jni_at(env, STROBE_JNI_NEW_STRING_UTF);
    return make(env, text);
}

/* ---- capture ---- */

static uint8_t class_is_bound(struct strobe_jni *env, strobe_jclass class)
{
    (void)env, (void)class;
    return 1;
}

static strobe_jobject class_start(struct strobe_jni *env, strobe_jclass class, strobe_jobject path, int32_t flags,
                                  int64_t interval_ns, int32_t records)
{
    char text[PATH_CHARS * CHAR_BYTES + 1], control[STROBE_CONTROL_NAME_BYTES];
    struct strobe_error error = {""};
    (void)class;
    read_java_string(env, path, PATH_CHARS, text);
    snprintf(control, sizeof control, "strobe.%d", (int)getpid()); /* as `strobe capture` expects */
    if (interval_ns < 0 || records < 0)
        return make_java_string(env, "expected an interval and a number of records that are not negative");
    struct strobe_capture_options options = {
        .session_path = text,
        .replace = flags & REPLACE,
        .paused = flags & PAUSED,
        .keep_oldest = flags & KEEP_OLDEST,
        .interval_ns = (uint64_t)interval_ns,
        .records_max = (uint32_t)records,
        .control = flags & CONTROL ? control : NULL,
    };
    return strobe_start(&options, &error) == STROBE_OK ? NULL : make_java_string(env, error.text);
}

static strobe_jobject class_start_recorder(struct strobe_jni *env, strobe_jclass class, strobe_jobject configuration)
{
    char text[PATH_CHARS * CHAR_BYTES + 1];
    struct strobe_error error = {""};
    (void)class;
    read_java_string(env, configuration, PATH_CHARS, text);
    struct strobe_capture_options options = {.flight = text};
    return strobe_start(&options, &error) == STROBE_OK ? NULL : make_java_string(env, error.text);
}

static uint8_t class_dump(struct strobe_jni *env, strobe_jclass class)
{
    (void)env, (void)class;
    return strobe_dump() == STROBE_OK;
}

static uint8_t class_stop(struct strobe_jni *env, strobe_jclass class)
{
    (void)env, (void)class;
    return strobe_stop() == STROBE_OK;
}

static uint8_t class_pause(struct strobe_jni *env, strobe_jclass class, uint8_t pause)
{
    (void)env, (void)class;
    return (pause ? strobe_pause() : strobe_resume()) == STROBE_OK;
}

/* ---- annotations ---- */

/* Also while the capture is paused: the section's end then belongs to this begin. */
static void class_begin(struct strobe_jni *env, strobe_jclass class, strobe_jobject name)
{
    char text[SECTION_CHARS * CHAR_BYTES + 1];
    (void)class;
    if (strobe_switched() == STROBE_OFF)
        return;
    read_java_string(env, name, SECTION_CHARS, text);
    strobe_begin(text);
}

static void class_end(struct strobe_jni *env, strobe_jclass class)
{
    (void)env, (void)class;
    strobe_end();
}

static void class_counter(struct strobe_jni *env, strobe_jclass class, strobe_jobject name, int64_t value)
{
    char text[SECTION_CHARS * CHAR_BYTES + 1];
    (void)class;
    if (strobe_switched() != STROBE_ON)
        return;
    read_java_string(env, name, SECTION_CHARS, text);
    strobe_counter(text, value);
}

static void class_thread_counter(struct strobe_jni *env, strobe_jclass class, strobe_jobject name, int64_t value)
{
    char text[SECTION_CHARS * CHAR_BYTES + 1];
    (void)class;
    if (strobe_switched() != STROBE_ON)
        return;
    read_java_string(env, name, SECTION_CHARS, text);
    strobe_thread_counter(text, value);
}

/* ---- status ---- */

/* Appends to a text of STATUS_BYTES at *at. What does not fit is left out. */
__attribute__((format(printf, 3, 4))) static void add_status(char *text, size_t *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + *at, STATUS_BYTES - *at, format, args);
    va_end(args);
    if (n > 0)
        *at = *at + (size_t)n < STATUS_BYTES ? *at + (size_t)n : STATUS_BYTES - 1;
}

/* Appends a string of JSON: quotes, backslashes and control characters are escaped. */
static void add_json_string(char *text, size_t *at, const char *value)
{
    add_status(text, at, "\"");
    for (const unsigned char *p = (const unsigned char *)value; *p; p++)
        if (*p == '"' || *p == '\\' || *p < ' ')
            add_status(text, at, "\\u%04x", *p);
        else
            add_status(text, at, "%c", *p);
    add_status(text, at, "\"");
}

static void add_flight(char *text, size_t *at)
{
    struct strobe_flight_status flight;
    strobe_get_flight_status(&flight);
    add_status(text, at,
               ",\"flight\":{\"armed\":%s,\"dumps\":%u,\"refused\":%u,\"writing\":\"%s\",\"cause\":\"%s\","
               "\"bytes_today\":%llu,\"last\":",
               flight.armed ? "true" : "false", flight.dumps, flight.refused, flight.writing, flight.cause,
               (unsigned long long)flight.bytes_today);
    add_json_string(text, at, flight.last);
    add_status(text, at, "}");
}

static void add_features(char *text, size_t *at, const struct strobe_art_status *s)
{
    add_status(text, at, ",\"hooker\":");
    add_json_string(text, at, s->hooker);
    add_status(text, at, ",\"native_slots\":%u,\"features\":{", s->native_slots);
    for (int use = 0, first = 1; use < STROBE_ART_USES; use++) {
        bool on = s->on >> use & 1;
        if (!on && !s->off[use][0])
            continue;
        add_status(text, at, "%s\"%s\":", first ? "" : ",", strobe_art_use_name((enum strobe_art_use)use));
        add_json_string(text, at, on ? "on" : s->off[use]);
        first = 0;
    }
    add_status(text, at, "}");
}

static strobe_jobject class_describe(struct strobe_jni *env, strobe_jclass class)
{
    static const char *const states[] = {"idle", "running", "paused", "stopped"};
    struct strobe_capture_status status;
    struct strobe_art_status features;
    char text[STATUS_BYTES];
    size_t at = 0;
    (void)class;
    strobe_get_status(&status);
    add_status(text, &at, "{\"state\":\"%s\",\"threads\":%u,\"samples\":%llu,\"lost\":%llu,\"annotations\":%llu",
               states[status.state], status.threads, (unsigned long long)status.samples,
               (unsigned long long)status.lost, (unsigned long long)status.annotations);
    add_status(text, &at, ",\"session_bytes\":%llu", (unsigned long long)status.session_bytes);
    add_flight(text, &at);
    if (strobe_art_status(&features) == STROBE_OK)
        add_features(text, &at, &features);
    add_status(text, &at, "}");
    return make_java_string(env, text);
}

/* ---- binding ---- */

bool strobe_app_bind_class(struct strobe_jni *env)
{
    static const struct strobe_jni_native natives[] = {
        {"isBound", "()Z", (void *)(uintptr_t)class_is_bound},
        {"startCapture", "(Ljava/lang/String;IJI)Ljava/lang/String;", (void *)(uintptr_t)class_start},
        {"startRecorder", "(Ljava/lang/String;)Ljava/lang/String;", (void *)(uintptr_t)class_start_recorder},
        {"dumpNow", "()Z", (void *)(uintptr_t)class_dump},
        {"stopCapture", "()Z", (void *)(uintptr_t)class_stop},
        {"pauseCapture", "(Z)Z", (void *)(uintptr_t)class_pause},
        {"beginSection", "(Ljava/lang/String;)V", (void *)(uintptr_t)class_begin},
        {"endSection", "()V", (void *)(uintptr_t)class_end},
        {"reportCounter", "(Ljava/lang/String;J)V", (void *)(uintptr_t)class_counter},
        {"reportThreadCounter", "(Ljava/lang/String;J)V", (void *)(uintptr_t)class_thread_counter},
        {"describeCapture", "()Ljava/lang/String;", (void *)(uintptr_t)class_describe},
    };
    enum { COUNT = sizeof natives / sizeof natives[0] };
    int32_t (*bind)(struct strobe_jni *, strobe_jclass, const struct strobe_jni_native *, int32_t) =
        (int32_t(*)(struct strobe_jni *, strobe_jclass, const struct strobe_jni_native *, int32_t))(
            uintptr_t)strobe_jni_at(env, STROBE_JNI_REGISTER_NATIVES);
    strobe_jclass class = strobe_jni_find_class(env, "strobe/Strobe");
    if (!class)
        return false;
    bool bound = bind(env, class, natives, COUNT) == STROBE_JNI_OK;
    if (!bound)
        ((void (*)(struct strobe_jni *))(uintptr_t)strobe_jni_at(env, STROBE_JNI_EXCEPTION_CLEAR))(env);
    return bound;
}
