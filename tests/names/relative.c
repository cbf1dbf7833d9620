/* Loads a library by a relative path, leaves the folder, and then computes in it.
 *
 *     relative LIBRARY */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    uint64_t (*compute)(void);
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    void *symbol = library ? dlsym(library, "compute_in_library") : NULL;
    if (!symbol || chdir("/")) {
        fprintf(stderr, "relative: %s\n", dlerror());
        return 1;
    }
    memcpy(&compute, &symbol, sizeof compute);
    return compute() == 42;
}
