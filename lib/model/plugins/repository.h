/*
 * How the workspace of a conversation gets its repository: the steps, each an action of the server
 * in the sandbox, which runs it once whoever asks how often. Whoever has the sandbox sends them.
 *
 * Ownership: repository_wish_done().
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
struct shape;
struct strbuf;

enum repository_step {
    REPOSITORY_CLONE, /* or, without an address, an empty repository */
    REPOSITORY_SETUP, /* .openhands/setup.sh in the conversation's shell */
    REPOSITORY_STOP,  /* of a set-up that takes too long: Ctrl-C */
    REPOSITORY_RESET, /* of one that goes on nevertheless: a new shell */
    REPOSITORY_HOOKS,
};

enum { REPOSITORY_CLONE_S = 600, REPOSITORY_SETUP_S = 600, REPOSITORY_STOP_S = 5 };

/* What is wanted. */
struct repository_wish {
    char *url;    /* without credentials; NULL: an empty repository */
    char *name;   /* of the folder; NULL: the repository's; ".": the working directory itself */
    char *branch; /* NULL: a new one */
    int64_t setup_timeout_s;
    char *username; /* beside the token */
    struct secret token;
    int64_t expires_in_s;
};

/* clang-format off */
#define REPOSITORY_WISH_INIT {NULL, NULL, NULL, REPOSITORY_SETUP_S, NULL, SECRET_INIT, 0}
/* clang-format on */

/* What clients send. */
extern const struct shape repository_request_shape;
extern const struct shape repository_credentials_shape;
extern const struct shape repository_credentials_request_shape;

void repository_wish_done(struct repository_wish *wish);
/*
 * Reads a checked request: of repository_request_shape, or of repository_credentials_request_shape.
 * Credentials in the address are taken out of it. ERROR_INVALID in words.
 */
int repository_wish_read(const json_t *request, struct repository_wish *wish_out,
                         struct error *err) NONNULL MUST_CHECK;
/* The body of POST /git/credentials of the server in the sandbox. A new reference. */
json_t *repository_credentials(const struct repository_wish *wish) NONNULL MUST_CHECK;

/* As the wire calls what is under way: PREPARING_REPOSITORY, … */
const char *repository_status(enum repository_step step) MUST_CHECK;
/* The id of a step's action: the same for the same wish of the same conversation. */
void repository_append_id(const struct repository_wish *wish, const struct uuid *conversation,
                          enum repository_step step, int attempt, struct strbuf *out) NONNULL;
/*
 * The body of the action. working_dir: the conversation's; path: the repository's, of the clone's
 * result ("" before). A new reference.
 */
json_t *repository_action(const struct repository_wish *wish, enum repository_step step,
                          const char *working_dir, const char *path) NONNULL MUST_CHECK;

#endif
