/*
 * Repositories that hold skills and plugins: a copy of one is made in a folder, and its small texts
 * are told. Nothing of it is run, and its links are not followed.
 */
#ifndef DEFT_SANDBOX_GIT_FETCH_H
#define DEFT_SANDBOX_GIT_FETCH_H

#include "base/attr.h"

struct request;

/* POST /repositories/fetch */
void fetch_handle(struct request *request) NONNULL;

#endif
