/*
 * Shared by the handlers of a user's stored documents: document scope, secret exposure, names, and
 * retries after a concurrent change.
 */
#ifndef DEFT_FCGI_SETTINGS_USER_DOCUMENTS_H
#define DEFT_FCGI_SETTINGS_USER_DOCUMENTS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "model/secrets/secret_walk.h"
#include "store/user/document_store.h"

struct error;
struct reply;

/* Maximum size of each collection. */
enum {
    PROFILES_MAX = 50,
    AGENT_PROFILES_MAX = 50,
    META_PROFILES_MAX = 50,
    CONNECTIONS_MAX = 64,
    SECRETS_MAX = 500,
};

extern const struct route agent_profile_routes[];
extern const struct route connection_routes[];
extern const struct route mcp_settings_routes[];
extern const struct route meta_profile_routes[];
extern const struct route model_catalogue_routes[];
extern const struct route user_budget_routes[];
/* The body of POST /api/budget/extend. */
extern const struct object_schema budget_extension_schema;
extern const struct route profile_routes[];
extern const struct route secret_routes[];
extern const struct route settings_routes[];
extern const struct route settings_schema_routes[];
extern const struct route workspace_place_routes[];
extern const struct route workspace_session_routes[];

/* The header X-Expose-Secrets. */
enum exposure {
    EXPOSE_MASKED, /* markers, null when unset */
    EXPOSE_SEALED, /* tokens that this server takes back */
    EXPOSE_PLAIN,
};

/* False when the header's value is invalid: reply with user_documents_refuse_exposure(). */
bool user_documents_read_exposure(const struct request *request,
                                  enum exposure *exposure_out) NONNULL MUST_CHECK;
/* Replies 400. */
int user_documents_refuse_exposure(struct reply *reply) NONNULL;
/* Replaces markers in an object by its secrets, as the exposure says. */
void user_documents_expose(const struct request *request, const struct secret_table *table,
                           json_t *object, const json_t *members, enum exposure exposure)
    __attribute__((nonnull(1, 2, 3)));

/* The document scope of the calling user. */
struct document_scope user_documents_scope(const struct request *request) NONNULL MUST_CHECK;

/*
 * The key for calling the LLM: its own, or the server's if it names the server's model. "" when
 * there is none. Borrowed.
 */
const char *user_documents_llm_key(const struct request *request, const json_t *llm)
    __attribute__((nonnull(1))) MUST_CHECK;

/* A profile name in the path; ERROR_INVALID, noted, if it is invalid. Borrowed. */
int user_documents_path_name(const struct request *request, const char *part, const char **name_out,
                             struct error *err) NONNULL MUST_CHECK;
/* As above, for a member of the body. */
int user_documents_member_name(const struct request *request, json_t *body, const char *member,
                               const char **name_out, struct error *err) NONNULL MUST_CHECK;

/*
 * Repeats an attempt (load, decide, write, reply) while it fails with ERROR_STALE. A failed attempt
 * has neither written nor replied.
 */
int user_documents_retry(const struct request *request, struct reply *reply,
                         int (*attempt)(const struct request *request, struct reply *reply,
                                        struct error *err),
                         struct error *err) NONNULL MUST_CHECK;

/* Documents that the client names and always sends whole. */
struct document_kind {
    enum collection collection;
    size_t max;
    json_t *(*read)(json_t *input, const struct json_path *where, json_t *problems);
    const char *words; /* "Meta-profile" */
};

/* Stores the body under the name in the path -> 201; an attempt for user_documents_retry(). */
int user_documents_save(const struct request *request, struct reply *reply,
                        const struct document_kind *kind, struct error *err) NONNULL MUST_CHECK;

/* GET: lists the names of the caller's secrets. */
int user_documents_list_secrets(const struct request *request, struct reply *reply,
                                struct error *err) NONNULL MUST_CHECK;
/* Replies with the secret's value as text. */
int user_documents_reply_secret(struct reply *reply,
                                const struct document *secret) NONNULL MUST_CHECK;
/* Rewords ERROR_NOT_FOUND for a missing secret; leaves other errors. Returns -1. */
int user_documents_secret_not_found(struct error *err) NONNULL MUST_CHECK;

/* Replies {"name", "message"}, the message formatted with the name. */
int user_documents_reply_message(struct reply *reply, int status, const char *name,
                                 const char *message) NONNULL;

#endif
