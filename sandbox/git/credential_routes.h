/*
 * The route that delivers credentials for git.
 */
#ifndef DEFT_SANDBOX_GIT_CREDENTIAL_ROUTES_H
#define DEFT_SANDBOX_GIT_CREDENTIAL_ROUTES_H

#include "base/attr.h"

struct server_request;

/* POST /git/credentials {"url","username","password","expires_in_s"} -> 200 | 400 */
void credentials_handle(struct server_request *request) NONNULL;

#endif
