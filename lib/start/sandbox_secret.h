/*
 * A user's stored secrets, read with the key of a sandbox that the user created through the app
 * API.
 */
#ifndef DEFT_START_SANDBOX_SECRET_H
#define DEFT_START_SANDBOX_SECRET_H

#include "base/attr.h"

struct document;
struct error;
struct start_context;

/* The route on which a sandbox reads its secrets; the name of one follows. */
#define SANDBOX_SECRETS_PATH "/api/v1/sandboxes/{sandbox_id}/settings/secrets"

/*
 * Reads the value of a secret and records the read. The caller has checked the key's permission.
 * ERROR_NOT_FOUND. Release the result with document_done().
 */
int sandbox_secret_read(const struct start_context *context, const char *name,
                        struct document *secret_out, struct error *err) NONNULL MUST_CHECK;
/*
 * The name of the secret that a URL refers to, in the cloud workspace's form: on any host, below
 * the path of the calling sandbox. NULL for other URLs and other sandboxes. Borrowed from url.
 */
const char *sandbox_secret_name(const struct start_context *context,
                                const char *url) NONNULL MUST_CHECK;

#endif
