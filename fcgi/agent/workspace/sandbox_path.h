/*
 * Calls on a path in a sandbox, for the file and git routes: `?path=` in the caller's shared
 * sandbox or in a conversation's workspace, or (old clients) a path at the end of the URL.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_PATH_H
#define DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_PATH_H

#include "base/attr.h"

struct error;
struct reply;
struct request;

/* Names the call in the sandbox, such as "/api/file/download"; borrows. */
struct path_call {
    const char *path;
    const char *const *params; /* of the query, in addition to `path`; ends with NULL; or NULL */
};

/* Any absolute path of the shared sandbox. 422 without a path, 400 for a relative one. */
int sandbox_path_shared(const struct request *request, struct reply *reply,
                        const struct path_call *call, struct error *err) NONNULL MUST_CHECK;
/* A path in the workspace of {runtime_conversation_id}; 422 for others. */
int sandbox_path_scoped(const struct request *request, struct reply *reply,
                        const struct path_call *call, struct error *err) NONNULL MUST_CHECK;
/* {path*} of the URL, with or without its first slash, in the shared sandbox. */
int sandbox_path_old(const struct request *request, struct reply *reply,
                     const struct path_call *call, struct error *err) NONNULL MUST_CHECK;
/* One of the first two, by the route. */
int sandbox_path_call(const struct request *request, struct reply *reply,
                      const struct path_call *call, struct error *err) NONNULL MUST_CHECK;

#endif
