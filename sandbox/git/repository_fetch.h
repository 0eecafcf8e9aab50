/*
 * Repositories that hold skills and plugins: copies one into a folder and returns its small text
 * files. Nothing in it is executed, and its links are not followed.
 * Decision: docs/decisions/0015-fetched-in-the-sandbox.md
 */
#ifndef DEFT_SANDBOX_GIT_REPOSITORY_FETCH_H
#define DEFT_SANDBOX_GIT_REPOSITORY_FETCH_H

#include "base/attr.h"

struct server_request;

/* POST /repositories/fetch */
void repository_fetch_handle(struct server_request *request) NONNULL;

#endif
