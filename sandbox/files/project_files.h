/*
 * Small text files from several folders in one reply: skills, hooks and agents that projects and
 * users keep, for deft-fcgi and deft-worker to read.
 */
#ifndef DEFT_SANDBOX_FILES_PROJECT_FILES_H
#define DEFT_SANDBOX_FILES_PROJECT_FILES_H

#include "base/attr.h"

struct server_request;

/* POST {"places":[…]} -> 200 {"files":[…]} | 400 */
void project_files_handle(struct server_request *request) NONNULL;

#endif
