/* The emulated processor, and the guest's address space.
 *
 * The space is a sorted list of regions, each backed by memory of the host. So the host reads and writes the guest's
 * memory without the emulator, and a file can be mapped shared into the guest. */
#ifndef STROBE_EMULATE_HOST_MACHINE_H
#define STROBE_EMULATE_HOST_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unicorn/unicorn.h>

enum { MACHINE_PAGE = 0x4000, MACHINE_REGIONS = 2048 }; /* 16 KiB, as on iOS */

enum machine_protection { MACHINE_READ = 1, MACHINE_WRITE = 2, MACHINE_EXECUTE = 4 };

struct machine_region {
    uint64_t base, bytes;
    uint8_t *memory;
    unsigned protection;
};

struct machine {
    uc_engine *uc;
    struct machine_region regions[MACHINE_REGIONS];
    size_t count;
};

/* Prints the message and ends the program with status 2. For errors that only a fault of the host or of its input
 * can cause. */
_Noreturn void machine_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes a processor with nothing mapped. */
void machine_init(struct machine *m);

/* Maps whole pages at `base`, zeroed. Returns false when a part of them is mapped already. */
bool machine_map(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection);

/* The same with pages of a file, from `offset` on. Also returns false when the file cannot be mapped. */
bool machine_map_file(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection, int fd, uint64_t offset,
                      bool shared);

/* Returns the lowest free address for that many bytes, with one unmapped page before it. */
uint64_t machine_room(const struct machine *m, uint64_t bytes);

/* Both split regions that they cover in part. machine_protect changes nothing and returns false when a part is not
 * mapped. */
void machine_unmap(struct machine *m, uint64_t base, uint64_t bytes);
bool machine_protect(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection);

/* Returns the host's address of the guest's `address`, and the number of bytes from there to the end of the region;
 * NULL when it is not mapped. */
uint8_t *machine_at(const struct machine *m, uint64_t address, uint64_t *bytes, unsigned *protection);

/* Return false, and copy nothing, when a part of the memory is not mapped or lacks the protection. */
bool machine_allows(const struct machine *m, uint64_t address, uint64_t bytes, unsigned protection);
bool machine_read(const struct machine *m, uint64_t address, void *out, uint64_t bytes);
bool machine_write(const struct machine *m, uint64_t address, const void *from, uint64_t bytes);

/* Read memory that must be mapped. */
uint64_t machine_word(const struct machine *m, uint64_t address);
void machine_text(const struct machine *m, uint64_t address, char *out, size_t bytes);

/* Read and write registers of the current context. */
uint64_t machine_register(const struct machine *m, int id);
void machine_set_register(const struct machine *m, int id, uint64_t value);

#endif
