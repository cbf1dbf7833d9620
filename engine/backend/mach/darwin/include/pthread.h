/* What the capture half uses of Darwin's <pthread.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_MACH_DARWIN_INCLUDE_PTHREAD_H
#define STROBE_BACKEND_MACH_DARWIN_INCLUDE_PTHREAD_H

#include <sys/types.h>

typedef struct _opaque_pthread_t *pthread_t;
typedef unsigned long pthread_key_t;
typedef struct { long sig; char opaque[56]; } pthread_attr_t, pthread_mutex_t;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *arg);
int pthread_join(pthread_t thread, void **result);
pthread_t pthread_self(void);
int pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);

#endif
