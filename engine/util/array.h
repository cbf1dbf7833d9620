/* Arrays that grow: a pointer to the items, and the capacity beside it, both in the owner's struct. All zero is an
 * empty array. The owner keeps the count of items, and frees the pointer with free().
 *
 *     struct { struct item *items; size_t count, capacity; } list;
 *     if (!strobe_array_reserve(&list.items, &list.capacity, list.count + 1))
 *         return STROBE_IO;
 *     list.items[list.count++] = item;
 *
 * The capacity is counted in items, and its type is uint32_t or size_t. It at least doubles when it grows, so
 * appending takes constant time on average. Items may move when it grows: pointers to them end then.
 *
 * Allocates. Different threads may use different arrays. For the reading half and the lab, never the capture half. */
#ifndef STROBE_UTIL_ARRAY_H
#define STROBE_UTIL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the array at `items` (the address of the pointer) hold at least `needed` items. Items beyond the former
 * capacity are uninitialized. False: out of memory, or more than the capacity's type or the address space can count;
 * array and capacity are as before. Evaluates `capacity` and `needed` more than once. */
#define strobe_array_reserve(items, capacity, needed)                                                                  \
    ((needed) <= *(capacity) ||                                                                                        \
     strobe_array_grow((items), sizeof **(items), (capacity), sizeof *(capacity), (needed), false))

/* The same, and items beyond the former capacity are zero bytes. */
#define strobe_array_reserve_zeroed(items, capacity, needed)                                                           \
    ((needed) <= *(capacity) ||                                                                                        \
     strobe_array_grow((items), sizeof **(items), (capacity), sizeof *(capacity), (needed), true))

/* What the macros call when `needed` items of `item_bytes` bytes exceed the capacity. `capacity_bytes` is the size of
 * the capacity's type: 4 or 8. */
bool strobe_array_grow(void *items, size_t item_bytes, void *capacity, size_t capacity_bytes, size_t needed,
                       bool zeroed);

#endif
