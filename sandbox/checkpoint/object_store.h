/*
 * A store of git objects in deft-action's own folder, which commands of the sandbox cannot enter: a
 * bare repository with SHA-256 names and loose objects. It is written and read here, never by a git
 * of the sandbox, so nothing that the workspace contains is executed.
 *
 * The store has two repositories. When the current one exceeds its limit it becomes the older one,
 * and the previous older one is deleted: the newest checkpoints stay, and the size is bounded.
 *
 * Ownership: object_store_done() releases the lock and the texts.
 * Threading: for forks. One store at a time is open in the sandbox; others wait for the lock.
 * Source:    git's Documentation: gitrepository-layout, gitformat-loose, hash-function-transition
 * Decision:  docs/decisions/0101-checkpoints.md
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_OBJECT_STORE_H
#define DEFT_SANDBOX_CHECKPOINT_OBJECT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct strbuf;

enum object_kind { OBJECT_BLOB, OBJECT_TREE };

enum { OBJECT_RAW_BYTES = 32, OBJECT_MAX_BYTES = 16 * 1024 * 1024 };

/* Lower-case hex of the SHA-256; "" is none. */
struct object_id {
    char hex[2 * OBJECT_RAW_BYTES + 1];
};

/* clang-format off */
#define OBJECT_ID_INIT {""}
/* clang-format on */

struct object_store_limits {
    int64_t max_bytes;      /* of one of the two repositories, before it becomes the older one */
    int64_t min_free_bytes; /* that the disk must have */
};

extern const struct object_store_limits object_store_default_limits;

struct object_store {
    char *current; /* folder of the repository that objects are written to */
    char *older;   /* of the previous one, which may not exist */
    int lock;
    int64_t n_new_bytes; /* written since it was opened */
};

/* clang-format off */
#define OBJECT_STORE_INIT {NULL, NULL, -1, 0}
/* clang-format on */

/*
 * Opens the store below the server's folder, creates it if necessary, and waits for other forks
 * that use it. ERROR_UNAVAILABLE if the folder cannot be written, or the disk is nearly full.
 */
int object_store_open(struct object_store *store, const char *folder,
                      const struct object_store_limits *limits,
                      struct error *err) NONNULL MUST_CHECK;
void object_store_done(struct object_store *store);

/* Reads a lower-case id of 64 digits; false for other texts, NULL included. */
bool object_id_read(const char *text, struct object_id *id_out)
    __attribute__((nonnull(2))) MUST_CHECK;

/* Writes an object unless the current repository has it. ERROR_UNAVAILABLE, ERROR_TOO_LARGE. */
int object_store_write(struct object_store *store, enum object_kind kind,
                       const struct strbuf *content, struct object_id *id_out,
                       struct error *err) NONNULL MUST_CHECK;
/* True if one of the repositories has a file for it. */
bool object_store_has(const struct object_store *store,
                      const struct object_id *id) NONNULL MUST_CHECK;
/*
 * Appends an object's content, checked against its id. ERROR_NOT_FOUND; ERROR_INVALID if it is
 * damaged or of another kind.
 */
int object_store_read(const struct object_store *store, enum object_kind kind,
                      const struct object_id *id, struct strbuf *content_out,
                      struct error *err) NONNULL MUST_CHECK;

/* An object's file as it is, to copy it to another store. Errors as object_store_read(). */
int object_store_read_file(const struct object_store *store, const struct object_id *id,
                           struct strbuf *bytes_out, struct error *err) NONNULL MUST_CHECK;
/* Adds a file of another store, checked against its id. ERROR_INVALID, ERROR_UNAVAILABLE. */
int object_store_write_file(struct object_store *store, const struct object_id *id,
                            const struct strbuf *bytes, struct error *err) NONNULL MUST_CHECK;

/* Replaces a file of the server's own in the current repository, such as a cache. */
int object_store_put_note(struct object_store *store, const char *name, const struct strbuf *bytes,
                          struct error *err) NONNULL MUST_CHECK;
/* Appends such a file; ERROR_NOT_FOUND, ERROR_TOO_LARGE. */
int object_store_get_note(const struct object_store *store, const char *name,
                          struct strbuf *bytes_out, struct error *err) NONNULL MUST_CHECK;

#endif
