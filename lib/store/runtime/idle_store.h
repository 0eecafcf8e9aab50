/*
 * Finds idle sandboxes, and those that have been up or at rest for too long. One statement finds
 * them; another one decides, checking the condition again.
 *
 * Ownership: idle_list_done() releases a list.
 * Threading: any thread.
 */
#ifndef DEFT_STORE_RUNTIME_IDLE_STORE_H
#define DEFT_STORE_RUNTIME_IDLE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct db;
struct error;

#define IDLE_KINDS(X)                                                                              \
    X(IDLE_UNUSED, "idle")     /* running, and unused for long */                                  \
    X(IDLE_LONG_UP, "long_up") /* running for longer than a session may */                         \
    X(IDLE_HELD, "held")       /* paused for so long that its programs may end */                  \
    X(IDLE_DEAD, "dead")       /* paused or stopped long enough to delete its files */

#define X(constant, text) constant,
enum idle_kind { IDLE_KINDS(X) IDLE_N_KINDS };
#undef X

/* Durations that count as too long; 0: never. */
struct idle_limits {
    int64_t idle_ms;
    int64_t up_ms;
    int64_t held_ms;
    int64_t dead_ms;
    int64_t unused_ms; /* least idle time of one to pause for being up too long */
};

struct idle_item {
    char id[17];
    char container_id[72];
    enum idle_kind kind;
};

struct idle_list {
    struct idle_item *items;
    size_t n;
};

const char *idle_kind_to_string(enum idle_kind kind) MUST_CHECK;
void idle_list_done(struct idle_list *list);
/* Those due now, a hundred at most, longest first. */
int idle_store_find(struct db *db, const struct idle_limits *limits, struct idle_list *list_out,
                    struct error *err) NONNULL MUST_CHECK;
/* Requests a pause, unless it was used within unused_ms or a conversation runs in it. */
int idle_store_pause(struct db *db, const char *id, int64_t unused_ms, bool *is_decided_out,
                     struct error *err) NONNULL MUST_CHECK;
/* Requests deletion of one at rest for dead_ms, unless it is wanted again. */
int idle_store_delete(struct db *db, const char *id, int64_t dead_ms, bool *is_decided_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
