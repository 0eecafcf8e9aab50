/*
 * Sandboxes as rows: the desired state of each, and the state last seen at the engine. Only the
 * runtime service writes status; others write `desired`.
 *
 * Ownership: runtime_done() releases what a struct holds.
 */
#ifndef DEFT_STORE_RUNTIME_RUNTIME_STORE_H
#define DEFT_STORE_RUNTIME_RUNTIME_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;

#define RUNTIME_STATUSES(X)                                                                        \
    X(RUNTIME_STARTING, "starting")                                                                \
    X(RUNTIME_RUNNING, "running")                                                                  \
    X(RUNTIME_PAUSED, "paused")                                                                    \
    X(RUNTIME_STOPPED, "stopped")                                                                  \
    X(RUNTIME_ERROR, "error")

#define X(constant, text) constant,
enum runtime_status { RUNTIME_STATUSES(X) RUNTIME_N_STATUSES };
#undef X

#define RUNTIME_DESIRES(X)                                                                         \
    X(DESIRED_RUNNING, "running")                                                                  \
    X(DESIRED_PAUSED, "paused")                                                                    \
    X(DESIRED_STOPPED, "stopped")                                                                  \
    X(DESIRED_DELETED, "deleted")

#define X(constant, text) constant,
enum runtime_desire { RUNTIME_DESIRES(X) DESIRED_N };
#undef X

struct runtime {
    char id[17]; /* 16 lower-case letters */
    char *session_id;
    struct uuid owner_id;  /* unset without an owner */
    struct uuid tenant_id; /* the Runtime API key that requested it; unset for our own */
    char *tenant_session;  /* the tenant's name of the session; NULL for our own */
    enum runtime_desire desired;
    enum runtime_status status;
    char *status_detail; /* text for the user; NULL when all is well */
    char *image;
    json_t *spec;        /* the checked start request, without the environment's secrets */
    const char *backend; /* its engine; a constant; NULL: not read */
    char *container_id;  /* NULL until the engine has created one */
    char *network;
    char *url;         /* NULL until known */
    char *session_key; /* sealed with context "runtimes.session_key:<id>" */
    char session_key_hash[65];
    int64_t restart_count;
    int64_t created_at_us;
    bool proves;      /* its server has its own keys, with which it proves itself */
    bool is_held;     /* its tenant paused it, and only the tenant wakes it */
    int64_t since_us; /* when it came up (starting, running) or to rest */
};

/* status_detail when the container was removed by another program. */
#define RUNTIME_DETAIL_REMOVED "the sandbox's container was removed"

struct runtime_list {
    struct runtime *items;
    size_t n;
};

/* clang-format off */
#define RUNTIME_INIT {.id = ""}
/* clang-format on */

const char *runtime_status_to_string(enum runtime_status status) MUST_CHECK;
const char *runtime_desire_to_string(enum runtime_desire desire) MUST_CHECK;
void runtime_done(struct runtime *runtime);
void runtime_list_done(struct runtime_list *list);

/*
 * Stores a new runtime with status starting; ERROR_CONFLICT when the session has a live one already
 * (then load that), ERROR_RATE_LIMITED when max_runtimes others of its tenant run; 0: no tenant.
 */
int runtime_store_add(struct db *db, const struct runtime *runtime, int64_t max_runtimes,
                      struct error *err) NONNULL MUST_CHECK;
int runtime_store_get(struct db *db, const char *id, struct runtime *runtime_out,
                      struct error *err) NONNULL MUST_CHECK;
/* The newest runtime of a session, whatever its state; ERROR_NOT_FOUND. */
int runtime_store_get_session(struct db *db, const char *session_id, struct runtime *runtime_out,
                              struct error *err) NONNULL MUST_CHECK;
/* The newest runtime of each session, in one query; sessions without any are left out. */
int runtime_store_get_sessions(struct db *db, const char *const *session_ids, size_t n,
                               struct runtime_list *list_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Finds a runtime by its key, for callers of the agent origin; ERROR_UNAUTHENTICATED; stopped ones
 * do not count.
 */
int runtime_store_find_key(struct db *db, const char *session_key_hash, struct runtime *runtime_out,
                           struct error *err) NONNULL MUST_CHECK;
/* All that are not stopped, or (unsettled) all whose status is not the desired one. */
int runtime_store_list(struct db *db, struct runtime_list *list_out,
                       struct error *err) NONNULL MUST_CHECK;
/* All of a tenant that are not stopped. */
int runtime_store_list_tenant(struct db *db, const struct uuid *tenant_id,
                              struct runtime_list *list_out, struct error *err) NONNULL MUST_CHECK;
int runtime_store_list_unsettled(struct db *db, struct runtime_list *list_out,
                                 struct error *err) NONNULL MUST_CHECK;
/* Every row: to find leftovers at the engine. */
int runtime_store_list_all(struct db *db, struct runtime_list *list_out,
                           struct error *err) NONNULL MUST_CHECK;
int runtime_store_want(struct db *db, const char *id, enum runtime_desire desired,
                       struct error *err) NONNULL MUST_CHECK;
/* Requests that a tenant's runtime runs; ERROR_RATE_LIMITED when max_runtimes of its others run. */
int runtime_store_want_within(struct db *db, const struct runtime *runtime, int64_t max_runtimes,
                              struct error *err) NONNULL MUST_CHECK;
/*
 * Writes the state found by the runtime service: status, status_detail, container_id, network, url,
 * restart_count, proves, and backend unless it is NULL, but only while the row's status is `from`.
 * ERROR_CONFLICT otherwise.
 */
int runtime_store_update(struct db *db, const struct runtime *runtime, enum runtime_status from,
                         struct error *err) NONNULL MUST_CHECK;
/* Deletes the row of a runtime whose container and volume are gone. */
int runtime_store_remove(struct db *db, const char *id, struct error *err) NONNULL MUST_CHECK;
/* True when it was unused for idle_ms, and none of its conversations runs or is to run. */
int runtime_store_is_unused(struct db *db, const char *id, int64_t idle_ms, bool *is_unused_out,
                            struct error *err) NONNULL MUST_CHECK;
/* Records a use, which delays the idle pause, but only of one that runs and is to run. */
int runtime_store_use(struct db *db, const char *id, bool *is_awake_out,
                      struct error *err) NONNULL MUST_CHECK;
/* Sets the home of a runtime without one; ERROR_CONFLICT when it has one. */
int runtime_store_set_home(struct db *db, const char *id, const char *home,
                           struct error *err) NONNULL MUST_CHECK;
int runtime_store_touch(struct db *db, const char *id, struct error *err) NONNULL MUST_CHECK;

#endif
