/* Waits whose wakers are known: each thread says by its name which one it is, and the main thread prints what must be
 * found. Every wait lasts some 20 ms, so that who ends it is nobody's guess. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, beside = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, go;
static int said;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static void *owner(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "owner");
    pthread_mutex_lock(&mutex);
    sem_post(&go);
    pause_ms(20);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *reader(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "reader");
    pthread_rwlock_rdlock(&rwlock);
    sem_post(&go);
    pause_ms(20);
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}

static void *notifier(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "notifier");
    pause_ms(20);
    pthread_mutex_lock(&beside);
    said = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&beside);
    return NULL;
}

static void *poster(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "poster");
    pause_ms(20);
    sem_post(&semaphore);
    return NULL;
}

static void *ender(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "ender");
    pause_ms(40);
    return NULL;
}

int main(void)
{
    pthread_t t;
    sem_init(&semaphore, 0, 0);
    sem_init(&go, 0, 0);

    pthread_create(&t, NULL, owner, NULL);
    sem_wait(&go);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(t, NULL);

    pthread_create(&t, NULL, reader, NULL);
    sem_wait(&go);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_join(t, NULL);

    pthread_create(&t, NULL, notifier, NULL);
    pthread_mutex_lock(&beside);
    while (!said)
        pthread_cond_wait(&cond, &beside);
    pthread_mutex_unlock(&beside);
    pthread_join(t, NULL);

    pthread_create(&t, NULL, poster, NULL);
    while (sem_wait(&semaphore) != 0)
        ;
    pthread_join(t, NULL);

    pthread_create(&t, NULL, ender, NULL);
    pthread_join(t, NULL);

    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&never, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return 0;
}
