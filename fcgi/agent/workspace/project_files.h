/*
 * Reads the small files that projects and users keep for agents in a sandbox, all in one request.
 * The format is model/plugins/project_files.h.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_PROJECT_FILES_H
#define DEFT_FCGI_AGENT_WORKSPACE_PROJECT_FILES_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct project_question;
struct request;

/*
 * Reads the user's files, then the project's (its repository's root first), as a list for
 * project_files_get(). Starts the shared sandbox, unless nothing is asked for. A new reference.
 * Errors as sandbox_request_send().
 */
int project_files_read(const struct request *request, const struct project_question *question,
                       json_t **files_out, struct error *err) NONNULL MUST_CHECK;

#endif
