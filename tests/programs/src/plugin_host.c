/* Opens ./libplugin.so in the given directory, leaves that directory, and calls the library: plugin_host DIRECTORY
 * ROUNDS */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3 || chdir(argv[1]))
        return 9;
    void *library = dlopen("./libplugin.so", RTLD_NOW);
    if (!library || chdir("/"))
        return 8;
    uint64_t (*render)(uint64_t) = (uint64_t(*)(uint64_t))(uintptr_t)dlsym(library, "render_picture");
    uint64_t sum = 0, rounds = strtoull(argv[2], NULL, 10);
    for (uint64_t i = 0; i < rounds; i++)
        sum += render(i);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
