#include "sim/explore/access.h"
#include "sim/explore/program.h"
#include <stdlib.h>
uint64_t explore_load(const volatile void *at, uint32_t bytes, int order, struct explore_site site){(void)at;(void)bytes;(void)order;(void)site;return 0;}
void explore_store(volatile void *at, uint32_t bytes, uint64_t value, int order, struct explore_site site){(void)at;(void)bytes;(void)order;(void)site;(void)value;}
uint64_t explore_fetch(volatile void *at, uint32_t bytes, enum explore_update update, uint64_t operand, int order,
                       struct explore_site site){(void)at;(void)bytes;(void)order;(void)site;(void)update;(void)operand;return 0;}
bool explore_compare_exchange(volatile void *at, uint32_t bytes, uint64_t *expected, uint64_t desired, bool weak,
                              int order, int failure_order, struct explore_site site){(void)at;(void)bytes;(void)order;(void)site;(void)expected;(void)desired;(void)weak;(void)failure_order;return 0;}
void explore_fence(int order, struct explore_site site){(void)order;(void)site;}
void explore_plain(const volatile void *at, uint64_t bytes, bool store, struct explore_site site){(void)at;(void)bytes;(void)site;(void)store;}
void explore_broken(const char *condition, const char *file, int line){(void)condition;(void)file;(void)line;abort();}
