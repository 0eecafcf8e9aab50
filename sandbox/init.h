/*
 * Deferred init: a server started without its session key serves only these routes until the
 * process that started it sends the key, and the environment of its shells. So the key is never in
 * an environment or a file, and a server can be started before it has an owner.
 *
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_INIT_H
#define DEFT_SANDBOX_INIT_H

#include "base/attr.h"

struct server_request;

/* GET: {"state": "dormant" or "ready", "error": null}. */
void init_handle_get(struct server_request *request) NONNULL;
/*
 * POST, with the init key in X-Init-API-Key and {"session_api_keys": [key], "env"?: {name: text}}:
 * answers as GET does; 401 for a wrong init key, 400 when the server already has its key, 422 for
 * an invalid body, of which nothing is used.
 */
void init_handle_post(struct server_request *request) NONNULL;
/* Before the body of a POST is read: refuses it by state and init key. */
void init_begin_post(struct server_request *request) NONNULL;

#endif
