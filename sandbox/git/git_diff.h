/*
 * A file at a base and now, or before and after a commit.
 */
#ifndef DEFT_SANDBOX_GIT_GIT_DIFF_H
#define DEFT_SANDBOX_GIT_GIT_DIFF_H

#include "base/attr.h"

struct server_request;

/* GET ?path=&ref=|commit= -> 200 {"modified","original"} | 400 | 422 */
void git_handle_diff(struct server_request *request) NONNULL;

#endif
