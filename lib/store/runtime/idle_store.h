/*
 * Finds idle sandboxes, and those that have been up or at rest for too long. One statement finds
 * them; another one decides, checking the condition again.
 *
 * Ownership: rest_list_done() releases a list.
 * Threading: any thread.
 */
#ifndef DEFT_STORE_RUNTIME_REST_STORE_H
#define DEFT_STORE_RUNTIME_REST_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct db;
struct error;

#define REST_KINDS(X)                                                                              \
    X(REST_IDLE, "idle")       /* running, and unused for long */                                  \
    X(REST_LONG_UP, "long_up") /* running for longer than a session may */                         \
    X(REST_HELD, "held")       /* paused for so long that its programs may end */                  \
    X(REST_DEAD, "dead")       /* at rest for so long that its files may go */

#define X(constant, text) constant,
enum rest_kind { REST_KINDS(X) REST_N_KINDS };
#undef X

/* Durations that count as too long; 0: never. */
struct rest_limits {
    int64_t idle_ms;
    int64_t up_ms;
    int64_t held_ms;
    int64_t dead_ms;
    int64_t unused_ms; /* least idle time of one to pause for being up too long */
};

struct rest_item {
    char id[17];
    char container_id[72];
    enum rest_kind kind;
};

struct rest_list {
    struct rest_item *items;
    size_t n;
};

const char *rest_kind_to_string(enum rest_kind kind) MUST_CHECK;
void rest_list_done(struct rest_list *list);
/* Those due now, a hundred at most, longest first. */
int rest_store_find(struct db *db, const struct rest_limits *limits, struct rest_list *list_out,
                    struct error *err) NONNULL MUST_CHECK;
/* Requests a pause, unless it was used within unused_ms or a conversation runs in it. */
int rest_store_pause(struct db *db, const char *id, int64_t unused_ms, bool *is_decided_out,
                     struct error *err) NONNULL MUST_CHECK;
/* Requests deletion of one at rest for dead_ms, unless it is wanted again. */
int rest_store_delete(struct db *db, const char *id, int64_t dead_ms, bool *is_decided_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
