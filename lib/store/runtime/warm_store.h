/*
 * Warm sandboxes: rows of their own until they are claimed.
 *
 * Ownership: warm_sandbox_done() releases what a struct holds.
 */
#ifndef DEFT_STORE_RUNTIME_WARM_STORE_H
#define DEFT_STORE_RUNTIME_WARM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct db;
struct error;
struct runtime;

/* The properties that members of a class share; borrows. */
struct warm_class {
    const char *image;
    int64_t memory_bytes;
    int64_t nano_cpus;
    const char *agent_build; /* the deft-action that a start installs now */
};

struct warm_sandbox {
    char id[17]; /* of the future runtime */
    char *image;
    int64_t memory_bytes;
    int64_t nano_cpus;
    char *agent_build;
    char *home;
    char *image_id; /* NULL, like the members below, until it is ready */
    char *container_id;
    char *network;
    char *url;
    char *init_key; /* sealed with context "runtimes.init_key:<id>" */
    bool is_ready;
};

struct warm_list {
    struct warm_sandbox *items;
    size_t n;
};

/* clang-format off */
#define WARM_SANDBOX_INIT {.id = ""}
/* clang-format on */

void warm_sandbox_done(struct warm_sandbox *sandbox);
void warm_list_done(struct warm_list *list);

/* Stores a sandbox that is about to be started. */
int warm_store_add(struct db *db, const struct warm_sandbox *sandbox,
                   struct error *err) NONNULL MUST_CHECK;
/* Makes it claimable. ERROR_NOT_FOUND when its row is gone. */
int warm_store_set_ready(struct db *db, const struct warm_sandbox *sandbox,
                         struct error *err) NONNULL MUST_CHECK;
/* All, oldest first. */
int warm_store_list(struct db *db, struct warm_list *list_out,
                    struct error *err) NONNULL MUST_CHECK;
/* ERROR_NOT_FOUND. */
int warm_store_get(struct db *db, const char *id, struct warm_sandbox *sandbox_out,
                   struct error *err) NONNULL MUST_CHECK;
/* Removes one, so that it cannot be claimed. ERROR_NOT_FOUND when it was claimed or removed. */
int warm_store_remove(struct db *db, const char *id, struct error *err) NONNULL MUST_CHECK;

/*
 * Fills the runtime's row for a claimed sandbox; called within the claim's transaction, so it does
 * nothing else.
 */
struct warm_taker {
    void *context;
    int (*fill)(void *context, const struct warm_sandbox *member, struct runtime *runtime_out,
                struct error *err);
    int64_t max_runtimes; /* as for runtime_store_add(); 0: the row has no tenant */
};

/*
 * Moves the oldest ready sandbox of the class to `runtimes`, atomically, under one row lock. The
 * caller releases *runtime_out. ERROR_NOT_FOUND when none is ready; ERROR_CONFLICT,
 * ERROR_RATE_LIMITED as runtime_store_add(), with the sandbox left in the pool.
 */
int warm_store_claim(struct db *db, const struct warm_class *warm_class,
                     const struct warm_taker *taker, struct runtime *runtime_out,
                     struct error *err) NONNULL MUST_CHECK;

#endif
