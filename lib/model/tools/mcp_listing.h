/*
 * What an agent's MCP servers offer, as they listed it: kept in the conversation's specification,
 * and shown to clients.
 *
 * A listing is the specification's member MCP_LISTING:
 *     {"tools": [{"server", "name", "tool"}], "failed": {server: reason}, "skipped": [{"server",
 *      "tool", "reason"}], "project": {server: digest}}
 * where "name" is the model's name for a tool, "tool" the server's description, and "project" tells
 * which of the workspace's servers were asked (project_servers.h). The event that
 * shows it to clients is a ConversationStateUpdateEvent with the key "agent_state" and the value
 * {"mcp_servers": {server: {"tools": [name]} or {"error": reason}}, "skipped": […]}.
 *
 * Ownership: functions return new references. Threading: pure.
 * Source: Model Context Protocol, "Tools", revision 2025-06-18.
 * Decision: docs/decisions/0092-mcp-servers.md
 */
#ifndef DEFT_MODEL_TOOLS_MCP_LISTING_H
#define DEFT_MODEL_TOOLS_MCP_LISTING_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;

/* The event's key. */
#define MCP_LISTING_KEY "agent_state"

json_t *mcp_listing_new(void) MUST_CHECK;
/*
 * Adds a server's tools, with names that begin with the server's if has_prefix is set. Those whose
 * name another one has, that are too large, or too many, are skipped with a reason.
 */
void mcp_listing_add(json_t *listing, const char *server, const json_t *tools,
                     bool has_prefix) NONNULL;
/* Notes why a server has none. */
void mcp_listing_fail(json_t *listing, const char *server, const char *reason) NONNULL;
/* Notes the workspace's servers that were asked, project_servers_digests(); shares them. */
void mcp_listing_set_project(json_t *listing, json_t *digests) NONNULL;
/* True if they are those; a missing listing has none. */
bool mcp_listing_has_project(const json_t *listing, const json_t *digests)
    __attribute__((nonnull(2))) MUST_CHECK;
/* The digest of one of them; "" if it was not asked. Borrowed. */
const char *mcp_listing_digest(const json_t *listing, const char *server)
    __attribute__((nonnull(2))) MUST_CHECK;
/* The value of the event that shows a listing. */
json_t *mcp_listing_event_value(const json_t *listing) NONNULL MUST_CHECK;
/* The servers of that listing that have failed, {name: reason}, or NULL. Borrowed. */
json_t *mcp_listing_failed(const json_t *listing) MUST_CHECK;

/* The tools of a server in that listing, as it described them. A new reference. */
json_t *mcp_listing_tools_of(const json_t *listing, const char *server)
    __attribute__((nonnull(2))) MUST_CHECK;

/* The tools of the conversation's listing, an array, or NULL. Borrowed. */
const json_t *mcp_tools_of(const struct conversation *conversation) NONNULL MUST_CHECK;
#endif
