/*
 * Lets the server prove to callers that it is the one that got the sandbox's keys, before they send
 * it anything.
 */
#ifndef DEFT_SANDBOX_HTTP_PROVE_H
#define DEFT_SANDBOX_HTTP_PROVE_H

#include "base/attr.h"

struct request;

/* GET /prove with a nonce -> 200 {"proof"}, see base/sandbox_key.h | 400 | 404 without a key */
void prove_handle(struct request *request) NONNULL;

#endif
