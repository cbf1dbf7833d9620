/* The state and functions that the files of the writer share (write.h).
 *
 *   write.c         declarations, groups of threads
 *   write_round.c   loops, rounds, messages
 *   write_node.c    bodies of methods
 *   write_value.c   names, times, distributions
 *   write_locks.c   which part of a method holds a lock */
#ifndef STROBE_SIM_LEARN_WRITER_H
#define STROBE_SIM_LEARN_WRITER_H

#include "sim/learn/fit.h"
#include "sim/learn/node.h"
#include "sim/learn/write.h"

enum { LEARN_HELD_MAX = 32, LEARN_KEY_BYTES = 256, LEARN_NAME_BYTES = 240, LEARN_DEPTH_MAX = 1600 };

struct learn_key {
    char text[LEARN_KEY_BYTES];
};

/* A method that holds a lock: what comes before it takes the lock, and what follows the release. LEARN_NONE: nothing.
 */
struct learn_lock_site {
    uint32_t method, object;
    uint64_t before, after; /* item as kind << 48 | sub << 32 | what; UINT64_MAX: none */
};

/* A kind of message: those that begin with one method. */
struct learn_posted {
    uint32_t name;  /* of the method */
    uint32_t group; /* of the first loopers, whose number is that of the queue */
    uint64_t marks, messages;
    uint64_t period_ns;       /* of a frame; else 0 */
    bool is_burst;            /* there are few, or none in the last part of the captures: each is posted at its time */
    struct learn_span *spans; /* in order of threads and times */
    uint32_t count, room;
    char key[LEARN_KEY_BYTES];
};

struct learn_writer {
    const struct learn_app *a;
    struct learn_plan *plan;
    struct sim_text methods, threads;
    struct strobe_idmap uses;       /* name -> number of methods with it */
    struct strobe_text_pool bodies; /* of methods that were written, with their names */
    struct learn_key *keys;         /* by number of the body */
    size_t key_room;
    struct learn_lock_site *sites;
    size_t site_count, site_room;
    struct learn_posted *posted;
    size_t posted_count, posted_room;
    uint32_t held[LEARN_HELD_MAX], held_count; /* locks held where we are */
    uint32_t group;                            /* of the threads that are written */
    uint32_t depth;  /* of the method that is written: calls from LEARN_DEPTH_MAX on are computing */
    bool holds_here; /* the innermost lock is held by the method that is written */
    bool is_divided; /* a caller of this node has been divided already */
    bool failed;
};

/* Subset of a node's instances. `in` NULL: all of them. */
struct learn_subset {
    const bool *in;
    uint32_t count;
};

/* write_value.c */
void sim_learn_put_name(struct sim_text *t, const char *name);
void sim_learn_put_time(struct sim_text *t, uint64_t ns);
void sim_learn_put_fit(struct sim_text *t, const struct sim_fit *f, bool is_time);

/* Fits the sample, shifted by -shift_ns, and puts the distribution. Sorts and changes the sample. */
void sim_learn_put_sample(const struct learn_writer *w, struct sim_text *t, uint64_t *sample, size_t count,
                          int64_t shift_ns);
void sim_learn_put_counts(const struct learn_writer *w, struct sim_text *t, uint64_t *counts, size_t count);

/* Makes a key for one more method of that name. */
void sim_learn_new_key(struct learn_writer *w, uint32_t name, char *key);

/* True when a method of the name with the same body is there already: `key` becomes its key. Else `key` becomes a new
 * one. */
bool sim_learn_is_put(struct learn_writer *w, uint32_t name, const struct sim_text *body, char *key);

/* Puts a whole method with this body, which it frees. */
void sim_learn_put_method(struct learn_writer *w, uint32_t name, const char *key, struct sim_text *body);

/* write_locks.c */
void sim_learn_find_sites(struct learn_writer *w);
bool sim_learn_is_lock(enum strobe_kind kind);

/* The number of a slot from which a lock is held, and the number up to which. False: the node does not take it. */
bool sim_learn_held_part(const struct learn_node *n, const struct learn_lock_site *site, uint32_t *first,
                         uint32_t *end);

/* write_node.c */
/* Writes the operations of a node's instances, and the methods that they call. */
void sim_learn_put_body(struct learn_writer *w, const struct learn_node *n, struct learn_subset subset,
                        struct sim_text *body, int indent);

/* Puts the allocations of a round: those of the group's threads, of their mean size, divided among the rounds. They are
 * freed at once, because a capture does not show when. */
void sim_learn_put_allocations(const struct learn_app *a, uint32_t group, uint64_t rounds, struct sim_text *body,
                               int indent);

/* Writes a method for the spans, which it takes over, and makes its key. `tail`, if any, ends its body. */
void sim_learn_put_spans(struct learn_writer *w, uint32_t name, struct learn_span *spans, uint32_t count, char *key);

/* write_round.c */
/* Writes a node's instances: divides them by duration when that keeps their durations better or `always` is set, unless
 * a caller is divided already. With `always`, of a sampled capture single instances are written as they were: their
 * parts, of about a sampling interval each, depend on one another. */
void sim_learn_put_round(struct learn_writer *w, const struct learn_node *n, bool always, struct sim_text *body,
                         int indent);

/* Writes the methods of a group of threads; `key` becomes that of the entry. */
void sim_learn_put_group(struct learn_writer *w, uint32_t group, char *key);

/* write_messages.c */
/* Lists the kinds of messages, with their keys. */
void sim_learn_find_messages(struct learn_writer *w);

/* Writes the methods of all messages. */
void sim_learn_put_messages(struct learn_writer *w);

/* Puts the loop's first posts, and the loop. `call` is the first thread's call that loops. */
void sim_learn_put_loop(struct learn_writer *w, uint32_t call, struct sim_text *body, int indent);

/* Returns the queue of a group of loopers: the number of the first group with the same one. */
uint32_t sim_learn_queue_of(const struct learn_app *a, uint32_t group);

#endif
