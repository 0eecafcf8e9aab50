/*
 * The administrator's configuration of the warm pool: a number of sandboxes of an image and a size,
 * by name.
 *
 * Ownership: warm_config_done() and warm_config_list_done() release texts and JSON.
 */
#ifndef DEFT_STORE_RUNTIME_WARM_CONFIG_STORE_H
#define DEFT_STORE_RUNTIME_WARM_CONFIG_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct db;
struct error;

struct warm_config {
    char *name;
    char *image;
    int64_t memory_bytes;
    int64_t nano_cpus;
    int64_t count;
    json_t *config; /* as received */
};

struct warm_config_list {
    struct warm_config *items;
    size_t n;
};

/* clang-format off */
#define WARM_CONFIG_INIT {NULL, NULL, 0, 0, 0, NULL}
/* clang-format on */

void warm_config_done(struct warm_config *config);
void warm_config_list_done(struct warm_config_list *list);

/* By name. */
int warm_config_store_list(struct db *db, struct warm_config_list *list_out,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * Stores it, replacing one of that name. ERROR_RATE_LIMITED when there would be more than `most`.
 */
int warm_config_store_put(struct db *db, const struct warm_config *config, int64_t most,
                          struct error *err) NONNULL MUST_CHECK;
/* ERROR_NOT_FOUND. */
int warm_config_store_remove(struct db *db, const char *name, struct error *err) NONNULL MUST_CHECK;

#endif
