/*
 * Documents that a user keeps on the server: named, in collections, read and written whole. One
 * mechanism for settings, profiles, connections, secrets and places.
 *
 * A document is a JSON body, which any of our code may read, and an object of secrets, sealed in
 * the row (keyring_seal(), bound to the document's id). A writer says which revision it has seen,
 * so that no update is lost: ERROR_STALE means load, decide and put again.
 *
 * Ownership: document_done(), document_list_done(); a scope borrows what it points to.
 * Threading: no state besides the scope's; any thread.
 * Decision: docs/decisions/0013-kept-documents.md
 */
#ifndef DEFT_STORE_USER_DOCUMENT_STORE_H
#define DEFT_STORE_USER_DOCUMENT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;
struct keyring;

/* Maximum size of a body, and of its secrets, as text: bounds documents that only grow. */
#define DOCUMENT_MAX_BYTES 4194304

#define COLLECTIONS(X)                                                                             \
    X(COLLECTION_SETTINGS, "settings")                                                             \
    X(COLLECTION_SECRETS, "secrets")                                                               \
    X(COLLECTION_PROFILES, "profiles")                                                             \
    X(COLLECTION_AGENT_PROFILES, "agent_profiles")                                                 \
    X(COLLECTION_META_PROFILES, "meta_profiles")                                                   \
    X(COLLECTION_CONNECTIONS, "provider_connections")                                              \
    X(COLLECTION_INSTALLED_SKILLS, "installed_skills")                                             \
    X(COLLECTION_INSTALLED_PLUGINS, "installed_plugins")

#define X(constant, text) constant,
enum collection { COLLECTIONS(X) COLLECTION_N };
#undef X

/* A user's documents: the scope of every call. */
struct document_scope {
    struct db *db;
    const struct keyring *keyring;
    struct uuid user_id;
};

struct document {
    enum collection collection;
    char *name;
    struct uuid id;
    int64_t revision; /* 0: not stored yet; grows by one per put */
    json_t *body;
    json_t *secrets; /* unsealed; NULL or {} when there are none */
    int64_t created_at_us;
    int64_t updated_at_us;
};

/* clang-format off */
#define DOCUMENT_INIT {.id = UUID_INIT}
/* clang-format on */

void document_done(struct document *document);
/* A new one with a random id and an empty body. */
struct document document_new(enum collection collection, const char *name) NONNULL MUST_CHECK;

struct document_list {
    struct document *items;
    size_t n;
};

/* clang-format off */
#define DOCUMENT_LIST_INIT {NULL, 0}
/* clang-format on */

void document_list_done(struct document_list *list);
/* The document of that name, or NULL. Borrowed from list. */
const struct document *document_list_find(const struct document_list *list,
                                          const char *name) NONNULL MUST_CHECK;

/* ERROR_NOT_FOUND when the user has none of that name. */
int document_store_get(const struct document_scope *scope, enum collection collection,
                       const char *name, struct document *document_out,
                       struct error *err) NONNULL MUST_CHECK;
/* As above, or a new document of that name, not stored yet. */
int document_store_get_or_new(const struct document_scope *scope, enum collection collection,
                              const char *name, struct document *document_out,
                              struct error *err) NONNULL MUST_CHECK;
/* By its id, which stays when it is renamed. ERROR_NOT_FOUND. */
int document_store_get_by_id(const struct document_scope *scope, enum collection collection,
                             const struct uuid *id, struct document *document_out,
                             struct error *err) NONNULL MUST_CHECK;
/* All documents of a collection, by name. Their number is bounded by document_store_put(). */
int document_store_list(const struct document_scope *scope, enum collection collection,
                        struct document_list *list_out, struct error *err) NONNULL MUST_CHECK;

enum document_change_kind { DOCUMENT_PUT, DOCUMENT_RENAME, DOCUMENT_DELETE };

struct document_change {
    enum document_change_kind kind;
    struct document *document; /* as it was loaded, or new; with the changes to put */
    const char *new_name;      /* RENAME: also puts body and secrets */
    size_t max;                /* PUT of a new one: limit of its collection; 0: none */
};

/*
 * Makes all of the changes or none. On success the documents have their new revisions and names.
 * Errors: ERROR_STALE: a document was changed, created or removed since it was loaded.
 * ERROR_CONFLICT: the new name is taken, or the collection is full. ERROR_TOO_LARGE: above
 * DOCUMENT_MAX_BYTES.
 */
int document_store_write(const struct document_scope *scope, const struct document_change *changes,
                         size_t n, struct error *err) NONNULL MUST_CHECK;
/*
 * Stores one document: a new one when revision is 0 (at most `max` in its collection, 0: no limit).
 */
int document_store_put(const struct document_scope *scope, struct document *document, size_t max,
                       struct error *err) NONNULL MUST_CHECK;
/* By name, whatever its revision. ERROR_NOT_FOUND. */
int document_store_delete(const struct document_scope *scope, enum collection collection,
                          const char *name, struct error *err) NONNULL MUST_CHECK;

#endif
