/*
 * What /api/git answers: the changes of a folder, commits and theirs.
 */
#ifndef DEFT_SANDBOX_GIT_GIT_ROUTES_H
#define DEFT_SANDBOX_GIT_GIT_ROUTES_H

#include "base/attr.h"

struct request;

void git_handle_changes(struct request *request) NONNULL;
void git_handle_commits(struct request *request) NONNULL;
void git_handle_commit_changes(struct request *request) NONNULL;

#endif
