/*
 * Builds of images from a posted context, finished and in progress.
 *
 * Ownership: image_build_done() releases a build's texts.
 */
#ifndef DEFT_STORE_RUNTIME_BUILD_STORE_H
#define DEFT_STORE_RUNTIME_BUILD_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;

#define BUILD_ID_BYTES 17

/* Names as clients know them; clients poll until the status is one of the last five. */
#define BUILD_STATUSES(X)                                                                          \
    X(BUILD_QUEUED, "QUEUED")                                                                      \
    X(BUILD_BUILDING, "BUILDING")                                                                  \
    X(BUILD_SUCCESS, "SUCCESS")                                                                    \
    X(BUILD_FAILURE, "FAILURE")                                                                    \
    X(BUILD_INTERNAL_ERROR, "INTERNAL_ERROR")                                                      \
    X(BUILD_TIMEOUT, "TIMEOUT")                                                                    \
    X(BUILD_EXPIRED, "EXPIRED")

#define X(constant, text) constant,
enum build_status { BUILD_STATUSES(X) BUILD_N_STATUSES };
#undef X

struct image_build {
    char id[BUILD_ID_BYTES];
    struct uuid tenant_id; /* unset: requested by a deft process */
    char *image;
    json_t *tags; /* all its names, the image's own name first */
    char *context_hash;
    enum build_status status;
    char *error;
    char *image_id;
};

struct build_list {
    struct image_build *items;
    size_t n;
};

/* clang-format off */
#define IMAGE_BUILD_INIT {"", UUID_INIT, NULL, NULL, NULL, BUILD_QUEUED, NULL, NULL}
/* clang-format on */

void image_build_done(struct image_build *build);
void build_list_done(struct build_list *list);
const char *build_status_to_string(enum build_status status) MUST_CHECK;

/* ERROR_CONFLICT when a build of that image is queued or in progress. */
int build_store_add(struct db *db, const struct image_build *build,
                    struct error *err) NONNULL MUST_CHECK;
/* ERROR_NOT_FOUND. */
int build_store_get(struct db *db, const char *id, struct image_build *build_out,
                    struct error *err) NONNULL MUST_CHECK;
/* The newest build of that image; ERROR_NOT_FOUND. */
int build_store_find(struct db *db, const char *image, struct image_build *build_out,
                     struct error *err) NONNULL MUST_CHECK;
/* Stores status, error and image_id. */
int build_store_update(struct db *db, const struct image_build *build,
                       struct error *err) NONNULL MUST_CHECK;
/* Ends all builds that are queued or in progress, with the given error text. */
int build_store_end_all(struct db *db, const char *words, struct error *err) NONNULL MUST_CHECK;
/* Images to delete: their key was revoked, or `most` newer ones of that key exist. */
int build_store_list_doomed(struct db *db, int64_t most, struct build_list *list_out,
                            struct error *err) NONNULL MUST_CHECK;

/*
 * Removes builds over a week old that failed, expired, or were superseded by a newer one of their
 * name.
 */
int build_store_prune(struct db *db, struct error *err) NONNULL MUST_CHECK;

#endif
