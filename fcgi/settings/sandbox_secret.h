/*
 * A user's stored secrets, read with the key of a sandbox that the user asked for by the app API.
 */
#ifndef DEFT_FCGI_SETTINGS_SANDBOX_SECRET_H
#define DEFT_FCGI_SETTINGS_SANDBOX_SECRET_H

#include "base/attr.h"

struct document;
struct error;
struct request;

/* Where such a sandbox reads them; the name follows. */
#define SANDBOX_SECRETS_PATH "/api/v1/sandboxes/{sandbox_id}/settings/secrets"

/*
 * Reads the value of one and puts the reading on record. The caller has checked that the key may.
 * ERROR_NOT_FOUND. document_done() the result.
 */
int sandbox_secret_read(const struct request *request, const char *name,
                        struct document *secret_out, struct error *err) NONNULL MUST_CHECK;
/*
 * The name of the secret that a URL means, as the cloud workspace writes it: on any host, below the
 * path of the sandbox that calls. NULL for all other URLs, and other sandboxes. Borrowed from url.
 */
const char *sandbox_secret_name(const struct request *request, const char *url) NONNULL MUST_CHECK;

#endif
