/* Which sanitizers the tests are compiled with, for gcc and clang: gcc defines macros, clang has a built-in test. */
#ifndef STROBE_SUPPORT_SANITIZERS_H
#define STROBE_SUPPORT_SANITIZERS_H

#ifdef __has_feature
#define HAS_SANITIZER(name) __has_feature(name)
#else
#define HAS_SANITIZER(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_SANITIZER(address_sanitizer)
#define ADDRESS_SANITIZER 1
#else
#define ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || HAS_SANITIZER(thread_sanitizer)
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif

#endif
