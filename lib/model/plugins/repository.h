/*
 * Steps that set up the repository in a conversation's workspace. Each is an action of deft-action,
 * which runs an id once, however often it is requested. The caller sends them to the sandbox.
 *
 * Ownership: repository_spec_done().
 * Threading: no state.
 */
#ifndef DEFT_MODEL_PLUGINS_REPOSITORY_H
#define DEFT_MODEL_PLUGINS_REPOSITORY_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"
#include "base/uuid.h"

struct error;
struct object_schema;
struct strbuf;

enum repository_step {
    REPOSITORY_CLONE, /* or, without a URL, an empty repository */
    REPOSITORY_SETUP, /* .openhands/setup.sh in the conversation's shell */
    REPOSITORY_STOP,  /* Ctrl-C, for a setup script that takes too long */
    REPOSITORY_RESET, /* a new shell, if it still runs after that */
    REPOSITORY_HOOKS,
};

enum { REPOSITORY_CLONE_S = 600, REPOSITORY_SETUP_S = 600, REPOSITORY_STOP_S = 5 };

/* The requested repository. */
struct repository_spec {
    char *url;    /* without credentials; NULL: an empty repository */
    char *name;   /* of the folder; NULL: the repository's; ".": the working directory itself */
    char *branch; /* NULL: a new one */
    int64_t setup_timeout_s;
    char *username; /* for the token */
    struct secret token;
    int64_t expires_in_s;
};

/* clang-format off */
#define REPOSITORY_SPEC_INIT {NULL, NULL, NULL, REPOSITORY_SETUP_S, NULL, SECRET_INIT, 0}
/* clang-format on */

/* Request bodies of clients. */
extern const struct object_schema repository_request_schema;
extern const struct object_schema repository_credentials_schema;
extern const struct object_schema repository_credentials_request_schema;

void repository_spec_done(struct repository_spec *spec);
/*
 * Reads a request that was validated by repository_request_schema or
 * repository_credentials_request_schema. Credentials in the URL are removed from it. ERROR_INVALID
 * with the reason.
 */
int repository_spec_read(const json_t *request, struct repository_spec *spec_out,
                         struct error *err) NONNULL MUST_CHECK;
/* Returns the body of deft-action's POST /git/credentials. A new reference. */
json_t *repository_credentials(const struct repository_spec *spec) NONNULL MUST_CHECK;

/* The wire's name for a step in progress: PREPARING_REPOSITORY, … */
const char *repository_status(enum repository_step step) MUST_CHECK;
/* Appends the id of a step's action: the same for the same request of the same conversation. */
void repository_append_id(const struct repository_spec *spec, const struct uuid *conversation,
                          enum repository_step step, int attempt, struct strbuf *out) NONNULL;
/*
 * Returns the body of the action. working_dir: the conversation's; path: the repository's, from the
 * clone's result ("" before). A new reference.
 */
json_t *repository_action(const struct repository_spec *spec, enum repository_step step,
                          const char *working_dir, const char *path) NONNULL MUST_CHECK;

#endif
