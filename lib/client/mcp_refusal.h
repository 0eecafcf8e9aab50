/*
 * Why an MCP server has refused a request: an HTTP status from 400 on.
 *
 * Threading: no state.
 */
#ifndef DEFT_CLIENT_MCP_REFUSAL_H
#define DEFT_CLIENT_MCP_REFUSAL_H

#include "base/attr.h"

struct error;
struct http_call;

/*
 * Sets ERROR_UNAUTHENTICATED if the server does not accept the credentials, else ERROR_INVALID; the
 * message names the scopes that a sign-in lacks (RFC 6750, section 3.1). Returns -1.
 */
int mcp_refusal_set(const struct http_call *call, struct error *err) NONNULL MUST_CHECK;

#endif
