/*
 * Routes for checkpoints: taking one, and copying the objects of one to another sandbox.
 *
 * Source: docs/api/action-server.md, section 10
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_CHECKPOINT_ROUTES_H
#define DEFT_SANDBOX_CHECKPOINT_CHECKPOINT_ROUTES_H

#include "base/attr.h"

struct server_request;

/* POST /checkpoints/take */
void checkpoint_handle_take(struct server_request *request) NONNULL;
/* POST /checkpoints/missing */
void checkpoint_handle_missing(struct server_request *request) NONNULL;
/* POST /checkpoints/read */
void checkpoint_handle_read(struct server_request *request) NONNULL;
/* POST /checkpoints/write */
void checkpoint_handle_write(struct server_request *request) NONNULL;

#endif
