/*
 * Deferred init: a server that was started without its session key serves nothing but these
 * routes, until who started it brings the key, and the environment that its shells begin with. So
 * no environment and no file ever holds the key, and a server can wait before it is anybody's.
 *
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_INIT_H
#define DEFT_SANDBOX_INIT_H

#include "base/attr.h"

struct request;

/* GET: {"state": "dormant" or "ready", "error": null}. */
void init_handle_get(struct request *request) NONNULL;
/*
 * POST, with the init key in X-Init-API-Key and {"session_api_keys": [key], "env"?: {name: text}}:
 * answers the same; 401 for another init key, 400 when the server has its key already, 422 for
 * another body, of which nothing is taken.
 */
void init_handle_post(struct request *request) NONNULL;

#endif
