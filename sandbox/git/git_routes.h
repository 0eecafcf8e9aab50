/*
 * Routes below /api/git: the changes of a folder, its commits and their changes.
 */
#ifndef DEFT_SANDBOX_GIT_GIT_ROUTES_H
#define DEFT_SANDBOX_GIT_GIT_ROUTES_H

#include "base/attr.h"

struct server_request;

/* Handlers of the route table, sandbox/action_routes.c; each answers its request. */
void git_handle_changes(struct server_request *request) NONNULL;
void git_handle_commits(struct server_request *request) NONNULL;
void git_handle_commit_changes(struct server_request *request) NONNULL;

#endif
