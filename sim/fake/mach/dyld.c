/* The loader: listeners for images that are added and removed.
 *
 * Listeners are called with the loader's lock held, as in dyld. Its owner may take the lock again. */
#include "sim/fake/mach/image.h"

#include "sim/fake/mach/kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 128, LISTENERS = 16 };

typedef void listener(const struct mach_header *header, intptr_t slide);

static struct fake_image images[IMAGES];
static uint32_t image_count;
static listener *add[LISTENERS], *removed[LISTENERS];
static pthread_mutex_t loader = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static const struct mach_header *header_of(const struct fake_image *i)
{
    return (const struct mach_header *)(const void *)i->header;
}

static struct fake_image *open_image(const char *path, uint32_t type)
{
    if (image_count == IMAGES || !fake_image_map(&images[image_count], path, type))
        return NULL;
    struct fake_image *i = &images[image_count++];
    for (int k = 0; k < LISTENERS && add[k]; k++)
        add[k](header_of(i), i->slide);
    return i;
}

/* The app exists before the first query. With the lock held. */
static void need_app(void)
{
    static const char path[] = "/private/var/containers/Bundle/Application/Lab.app/Lab";
    if (image_count == 0 && !open_image(path, MH_EXECUTE))
        abort();
}

static void add_dyld_listener(listener **to, listener *func)
{
    int k = 0;
    while (k < LISTENERS && to[k])
        k++;
    if (k == LISTENERS)
        abort();
    to[k] = func;
}

void _dyld_register_func_for_add_image(listener *func)
{
    pthread_mutex_lock(&loader);
    need_app();
    add_dyld_listener(add, func);
    for (uint32_t i = 0; i < image_count; i++)
        func(header_of(&images[i]), images[i].slide);
    pthread_mutex_unlock(&loader);
}

void _dyld_register_func_for_remove_image(listener *func)
{
    pthread_mutex_lock(&loader);
    need_app();
    add_dyld_listener(removed, func);
    pthread_mutex_unlock(&loader);
}

/* ---- by number */

uint32_t _dyld_image_count(void)
{
    pthread_mutex_lock(&loader);
    need_app();
    uint32_t n = image_count;
    pthread_mutex_unlock(&loader);
    return n;
}

static struct fake_image dyld_image_at(uint32_t index)
{
    struct fake_image found = {0};
    pthread_mutex_lock(&loader);
    need_app();
    if (index < image_count)
        found = images[index];
    pthread_mutex_unlock(&loader);
    return found;
}

const struct mach_header *_dyld_get_image_header(uint32_t index)
{
    struct fake_image i = dyld_image_at(index);
    return header_of(&i);
}

intptr_t _dyld_get_image_vmaddr_slide(uint32_t index)
{
    return dyld_image_at(index).slide;
}
const char *_dyld_get_image_name(uint32_t index)
{
    return dyld_image_at(index).path;
}

/* ---- the app's */

struct fake_mach_app *fake_mach_app(void)
{
    return dyld_image_at(0).app;
}

const struct mach_header_64 *fake_mach_image_open(const char *path)
{
    pthread_mutex_lock(&loader);
    need_app();
    struct fake_image *i = open_image(path, MH_DYLIB);
    const struct mach_header_64 *header = i ? i->header : NULL;
    pthread_mutex_unlock(&loader);
    return header;
}

static uint32_t dyld_image_index(const struct mach_header_64 *header)
{
    uint32_t i = 0;
    while (i < image_count && images[i].header != header)
        i++;
    return i;
}

struct fake_mach_app *fake_mach_image_app(const struct mach_header_64 *header)
{
    pthread_mutex_lock(&loader);
    uint32_t i = dyld_image_index(header);
    struct fake_mach_app *app = i < image_count ? images[i].app : NULL;
    pthread_mutex_unlock(&loader);
    return app;
}

void fake_mach_image_close(const struct mach_header_64 *header)
{
    pthread_mutex_lock(&loader);
    uint32_t i = dyld_image_index(header);
    if (i > 0 && i < image_count) {
        for (int k = 0; k < LISTENERS && removed[k]; k++)
            removed[k](header_of(&images[i]), images[i].slide);
        fake_image_unmap(&images[i]);
        memmove(&images[i], &images[i + 1], (--image_count - i) * sizeof images[0]);
    }
    pthread_mutex_unlock(&loader);
}
