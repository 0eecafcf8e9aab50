/*
 * Repositories that hold skills and plugins: copies one into a folder and returns its small text
 * files. Nothing in it is executed, and its links are not followed.
 * Decision: docs/decisions/0015-fetched-in-the-sandbox.md
 */
#ifndef DEFT_SANDBOX_GIT_FETCH_H
#define DEFT_SANDBOX_GIT_FETCH_H

#include "base/attr.h"

struct request;

/* POST /repositories/fetch */
void fetch_handle(struct request *request) NONNULL;

#endif
