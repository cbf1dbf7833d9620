/* The emulated processor, and the guest's address space.
 *
 * The space is a sorted list of regions, each backed by memory of ours: so the host reads and writes what the guest has
 * mapped without asking the emulator, and a file of this machine can be mapped shared into the guest. */
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

/* Says what is wrong, and ends the program with status 2: for what can only be a fault of the host or of its input. */
_Noreturn void machine_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes a processor with nothing mapped. */
void machine_init(struct machine *m);

/* Maps whole pages at `base`, zeroed. False when some of it is mapped already. */
bool machine_map(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection);

/* The same with those of a file, from `offset` on. False also when the file can't be mapped. */
bool machine_map_file(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection, int fd, uint64_t offset,
                      bool shared);

/* The lowest room for that many bytes, whole pages with one unmapped page before them. */
uint64_t machine_room(const struct machine *m, uint64_t bytes);

/* Both split what they cover in part. machine_protect: false, and nothing is done, when some of it is not mapped. */
void machine_unmap(struct machine *m, uint64_t base, uint64_t bytes);
bool machine_protect(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection);

/* Where `address` is in our memory, and how many bytes from there on are; NULL when it is not mapped. */
uint8_t *machine_at(const struct machine *m, uint64_t address, uint64_t *bytes, unsigned *protection);

/* All or nothing; false when some of it is not mapped, or lacks that protection. */
bool machine_allows(const struct machine *m, uint64_t address, uint64_t bytes, unsigned protection);
bool machine_read(const struct machine *m, uint64_t address, void *out, uint64_t bytes);
bool machine_write(const struct machine *m, uint64_t address, const void *from, uint64_t bytes);

/* Of memory that is known to be there. */
uint64_t machine_word(const struct machine *m, uint64_t address);
void machine_text(const struct machine *m, uint64_t address, char *out, size_t bytes);

/* Registers of the processor as it stands. */
uint64_t machine_register(const struct machine *m, int id);
void machine_set_register(const struct machine *m, int id, uint64_t value);

#endif
