/*
 * MCP servers that a conversation's workspace names. The agent gets those to which the user has
 * consented, each as it was when the user saw it.
 *
 * The specification's member PROJECT_SERVERS, hidden from clients:
 *     {"found": {name: {"server", "source", "digest", "shown"}}, "consents": {name: digest}}
 * where "server" is a configuration as in the agent's mcp_config, "digest" identifies it, and
 * "shown" is what clients see of it. A consent holds for one digest.
 *
 * Clients see {"project_mcp_servers": [{"name", "digest", "source", "url" or "command", "env",
 * "headers", "auth", "secrets", "is_consented"}]}, as the value of a ConversationStateUpdateEvent
 * with the key "agent_state", and in the answers of fcgi/agent/conversation/server_consents.c.
 *
 * Ownership: functions return new references. Threading: pure.
 * Decision:  docs/decisions/0100-servers-of-a-workspace.md
 */
#ifndef DEFT_MODEL_TOOLS_PROJECT_SERVERS_H
#define DEFT_MODEL_TOOLS_PROJECT_SERVERS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct project_file;

/* The event's key. */
#define PROJECT_SERVERS_KEY "agent_state"

/*
 * Adds the servers of one of the workspace's files to found, {name: {"server", "source",
 * "digest"}}, and why others are left out to problems (model/plugins/mcp_file.h).
 */
void project_servers_read(const struct conversation *conversation, const struct project_file *file,
                          json_t *found, json_t *problems) NONNULL;
/* What clients see of an entry of found, before secrets are masked. */
json_t *project_servers_show(const char *name, const json_t *entry) NONNULL MUST_CHECK;

/* Whether the workspace has ever named any. */
bool project_servers_were_found(const json_t *spec) NONNULL MUST_CHECK;
/* Whether the specification knows exactly these, whatever is shown of them. */
bool project_servers_are(const json_t *spec, const json_t *found) NONNULL MUST_CHECK;
/* Sets those that are known, with "shown"; a consent stays if its server is the same. */
void project_servers_set(json_t *spec, json_t *found) NONNULL;
/* What clients see of them. */
json_t *project_servers_event_value(const json_t *spec) NONNULL MUST_CHECK;

/*
 * The user's consent to a server. ERROR_NOT_FOUND if the workspace names none of that name,
 * ERROR_CONFLICT if it is not the one of that digest any more.
 */
int project_servers_consent(json_t *spec, const char *name, const char *digest,
                            struct error *err) NONNULL MUST_CHECK;
/* Takes it back; no error if there is none. */
void project_servers_withdraw(json_t *spec, const char *name) NONNULL;
/* Takes all back: for a copy of the conversation. */
void project_servers_withdraw_all(json_t *spec) NONNULL;
/* Those with a consent, {name: server}; the servers are shared with spec. */
json_t *project_servers_consented(const json_t *spec) NONNULL MUST_CHECK;
/* Their digests, {name: digest}. */
json_t *project_servers_digests(const json_t *spec) NONNULL MUST_CHECK;

/* The request that reads the files with servers anew (PROJECT_FILES_PATH). */
json_t *project_servers_request(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The servers of its reply, in the form of found; malformed parts are left out. */
json_t *project_servers_find(const struct conversation *conversation, const json_t *reply)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
