/*
 * A conversation's tools in this sandbox: its shell, its editor, its browser, its MCP servers and
 * the actions waiting for them.
 *
 * Ownership: a session owns its terminal, editor, browser and pending actions.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_ACTIONS_TOOL_SESSION_H
#define DEFT_SANDBOX_ACTIONS_TOOL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "sandbox/core/action_limits.h"

struct action;
struct action_server;
struct progress_reports;
struct error;
struct server_request;
struct tool_session;

enum action_tool {
    ACTION_TERMINAL,
    ACTION_FILE_EDITOR,
    ACTION_BROWSER,
    ACTION_REPOSITORY,
    ACTION_FILE_TOOL, /* see file_tool.h */
    ACTION_HOOK,
    ACTION_MCP, /* see mcp_tool.h */
    ACTION_CHECKPOINT,
};

/* The contents of a PUT. */
struct action_spec {
    char id[MAX_ACTION_ID_BYTES];
    struct uuid conversation;
    int64_t fence;
    char hash[ACTION_HASH_BYTES];
    enum action_tool tool;
    json_t *body; /* the whole request; borrowed */
};

struct tool_session *tool_session_new(struct action_server *server,
                                      const struct uuid *id) NONNULL MUST_CHECK;
/* Ends its shell, browser and MCP servers; requests waiting for an action are answered as
 * interrupted. */
void tool_session_free(struct tool_session *session);
const struct uuid *tool_session_id(const struct tool_session *session) NONNULL MUST_CHECK;

/* The pending action with that id, or NULL. */
struct action *tool_session_find_action(struct tool_session *session,
                                        const char *id) NONNULL MUST_CHECK;
/* Progress of its calls at MCP servers; lives as long as the session. */
struct progress_reports *
tool_session_progress(const struct tool_session *session) NONNULL MUST_CHECK;
const char *action_hash(const struct action *action) NONNULL MUST_CHECK;
/* Answers the request when the action ends. ERROR_RATE_LIMITED with too many waiters. */
int action_wait(struct action *action, struct server_request *request,
                struct error *err) NONNULL MUST_CHECK;
/*
 * Starts an action, or queues it for the shell; `request` is answered when it ends.
 * ERROR_RATE_LIMITED when too many are queued, ERROR_INVALID for malformed arguments.
 */
int tool_session_run(struct tool_session *session, const struct action_spec *spec,
                     struct server_request *request, struct error *err) NONNULL MUST_CHECK;
/* True when no action runs or waits: freeing it ends only what it keeps. */
bool tool_session_is_idle(const struct tool_session *session) NONNULL MUST_CHECK;
/* Sends Ctrl-C to the shell and ends other calls, restores excepted; queued actions end as
 * interrupted. */
void tool_session_interrupt(struct tool_session *session) NONNULL;

/* The body of a reply: {"state":"interrupted","reason":…}. The caller frees. */
char *action_interrupted_body(const char *reason) NONNULL MUST_CHECK;

#endif
