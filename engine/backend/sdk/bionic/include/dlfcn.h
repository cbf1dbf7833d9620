/* What the capture half uses of Android's <dlfcn.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_DLFCN_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_DLFCN_H

#define RTLD_LOCAL 0
#ifdef __LP64__
#define RTLD_LAZY    1
#define RTLD_NOW     2
#define RTLD_NOLOAD  4
#define RTLD_GLOBAL  0x100
#define RTLD_DEFAULT ((void *)0)
#else
#define RTLD_LAZY    1
#define RTLD_NOW     0
#define RTLD_NOLOAD  4
#define RTLD_GLOBAL  2
#define RTLD_DEFAULT ((void *)0xffffffff)
#endif

typedef struct {
    const char *dli_fname;
    void *dli_fbase;
    const char *dli_sname;
    void *dli_saddr;
} Dl_info;

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
char *dlerror(void);
int dladdr(const void *address, Dl_info *info);

#endif
