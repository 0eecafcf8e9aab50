/*
 * The living MCP servers of all conversations in this sandbox: one per conversation, server and
 * configuration. A call starts the one that it needs; the next call, by whichever worker, uses it
 * again.
 *
 * Ownership: struct mcp_programs owns the programs.
 * Threading: the loop's thread.
 * Decision: docs/decisions/0099-living-mcp-servers.md
 */
#ifndef DEFT_SANDBOX_PORTS_MCP_PROGRAMS_H
#define DEFT_SANDBOX_PORTS_MCP_PROGRAMS_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct action_config;
struct error;
struct event_loop;
struct mcp_call;
struct mcp_call_spec;
struct mcp_programs;
struct uuid;

enum { MCP_PROGRAMS_MAX = 64 }; /* in the sandbox */

/* A server of a conversation, as it is configured now. */
struct mcp_program_order {
    const struct uuid *conversation;
    const char *server;      /* its name in the conversation */
    const json_t *order;     /* {"command", "args", "env", "cwd"} */
    const char *working_dir; /* without a "cwd" */
};

struct mcp_programs *mcp_programs_new(struct event_loop *loop,
                                      const struct action_config *config) NONNULL MUST_CHECK;
/* Kills all programs. */
void mcp_programs_free(struct mcp_programs *programs);
/*
 * Begins a call at the program that the order names. It is started if it does not run, or has ended
 * since its last call. One with another configuration ends after its calls. ERROR_RATE_LIMITED if
 * too many run and none is idle, and the errors of mcp_program_start() and mcp_program_call().
 */
int mcp_programs_call(struct mcp_programs *programs, const struct mcp_program_order *order,
                      const struct mcp_call_spec *spec, struct mcp_call **call_out,
                      struct error *err) NONNULL MUST_CHECK;
/* Ends the conversation's programs; the owners of their calls are not told. */
void mcp_programs_end(struct mcp_programs *programs, const struct uuid *conversation) NONNULL;

#endif
