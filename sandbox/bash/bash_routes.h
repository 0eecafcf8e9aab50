/*
 * Routes below /api/bash.
 * Source: docs/api/action-server.md
 */
#ifndef DEFT_SANDBOX_BASH_BASH_ROUTES_H
#define DEFT_SANDBOX_BASH_BASH_ROUTES_H

#include "base/attr.h"

struct request;

void bash_handle_start(struct request *request) NONNULL;
void bash_handle_execute(struct request *request) NONNULL;
void bash_handle_stop(struct request *request) NONNULL;
void bash_handle_search(struct request *request) NONNULL;
void bash_handle_get(struct request *request) NONNULL;
void bash_handle_batch(struct request *request) NONNULL;
void bash_handle_clear(struct request *request) NONNULL;

#endif
