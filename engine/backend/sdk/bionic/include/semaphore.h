/* What the capture half uses of Android's <semaphore.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SEMAPHORE_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SEMAPHORE_H

#include <time.h>

typedef struct {
    unsigned count;
#ifdef __LP64__
    int reserved[3];
#endif
} sem_t;

int sem_wait(sem_t *s);
int sem_trywait(sem_t *s);
int sem_timedwait(sem_t *s, const struct timespec *until);
int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until); /* from API level 30 on */
int sem_post(sem_t *s);

#endif
