/*
 * The beginning of a server that starts deferred: until then it is dormant, afterwards it never is
 * again.
 */
#ifndef DEFT_STORE_USER_INIT_STORE_H
#define DEFT_STORE_USER_INIT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct db;
struct db_pipe;
struct db_ticket;
struct error;
struct uuid;

/* How the settings are sealed (keyring_seal()). */
#define INIT_SEAL_CONTEXT "server_init.settings"

/* What the beginning changes, all of it or nothing. */
struct init_plan {
    const struct uuid *user_id;    /* whose keys they are */
    const char *const *key_hashes; /* of keys that are valid from now on */
    size_t n_keys;
    int64_t n_run_slots;  /* of that user; 0: as they are */
    const char *settings; /* sealed JSON, to be kept */
};

/* ERROR_CONFLICT when it has begun before. */
int init_store_begin(struct db *db, const struct init_plan *plan,
                     struct error *err) NONNULL MUST_CHECK;
int init_store_has_begun(struct db *db, bool *has_begun_out, struct error *err) NONNULL MUST_CHECK;
/* The settings that it began with, as they were sealed, or NULL. The caller frees with mem_free().
 */
int init_store_load(struct db *db, char **settings_out, struct error *err) NONNULL MUST_CHECK;

/* The same as init_store_has_begun() without waiting; as the questions of live_store.h. */
struct init_question {
    struct db_ticket *ticket;
    bool has_begun;
    void (*done)(struct init_question *question, const struct error *err);
};

void init_store_ask(struct db_pipe *pipe, struct init_question *question) NONNULL;

#endif
