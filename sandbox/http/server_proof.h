/*
 * Lets the server prove to callers that it is the one that got the sandbox's keys, before they send
 * it anything.
 */
#ifndef DEFT_SANDBOX_HTTP_SERVER_PROOF_H
#define DEFT_SANDBOX_HTTP_SERVER_PROOF_H

#include "base/attr.h"

struct server_request;

/* GET /prove with a nonce -> 200 {"proof"}, see base/sandbox_key.h | 400 | 404 without a key */
void server_proof_handle(struct server_request *request) NONNULL;

#endif
