/*
 * Sandboxes that were started ahead: rows of their own until somebody claims one.
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

/* What members have in common; borrows. */
struct warm_class {
    const char *image;
    int64_t memory_bytes;
    int64_t nano_cpus;
    const char *fittings; /* the deft-action that a start gets now */
};

struct warm_sandbox {
    char id[17]; /* of the runtime that it will be */
    char *image;
    int64_t memory_bytes;
    int64_t nano_cpus;
    char *fittings;
    char *home;
    char *image_id; /* NULL, as the rest, until it is ready */
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

/* Stores one that is about to be started. */
int warm_store_add(struct db *db, const struct warm_sandbox *sandbox,
                   struct error *err) NONNULL MUST_CHECK;
/* It can be claimed from now on. ERROR_NOT_FOUND when its row is no more. */
int warm_store_set_ready(struct db *db, const struct warm_sandbox *sandbox,
                         struct error *err) NONNULL MUST_CHECK;
/* All, the oldest first. */
int warm_store_list(struct db *db, struct warm_list *list_out,
                    struct error *err) NONNULL MUST_CHECK;
/* ERROR_NOT_FOUND. */
int warm_store_get(struct db *db, const char *id, struct warm_sandbox *sandbox_out,
                   struct error *err) NONNULL MUST_CHECK;
/* Takes one out for good, so that nobody claims it. ERROR_NOT_FOUND when somebody has. */
int warm_store_remove(struct db *db, const char *id, struct error *err) NONNULL MUST_CHECK;

/* Makes a claimed one's row of a runtime; called within the claim, so it does nothing else. */
struct warm_taker {
    void *context;
    int (*fill)(void *context, const struct warm_sandbox *member, struct runtime *runtime_out,
                struct error *err);
    int64_t max_runtimes; /* as of runtime_store_add(); 0: the row has no tenant */
};

/*
 * Moves the oldest ready one of the class to `runtimes`, under one row lock: all of it or nothing.
 * The caller releases *runtime_out. ERROR_NOT_FOUND when none is ready; ERROR_CONFLICT,
 * ERROR_RATE_LIMITED as of runtime_store_add(), with the member left where it was.
 */
int warm_store_claim(struct db *db, const struct warm_class *warm_class,
                     const struct warm_taker *taker, struct runtime *runtime_out,
                     struct error *err) NONNULL MUST_CHECK;

#endif
