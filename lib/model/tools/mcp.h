/*
 * Messages of the Model Context Protocol that a client needs to list a server's tools and call one.
 *
 * Source: Model Context Protocol, revision 2025-06-18; JSON-RPC 2.0.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_TOOLS_MCP_H
#define DEFT_MODEL_TOOLS_MCP_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

#define MCP_VERSION "2025-06-18"

/*
 * A call's time is a limit on the server's silence, which progress renews up to this: the longest
 * time that a server can be configured with. So a server that only reports progress holds a run no
 * longer than one that its user trusts with it.
 */
enum { MCP_CALL_MAX_MS = 3600000 };

/* Each returns a new reference. */
json_t *mcp_initialize(json_int_t id) MUST_CHECK;
json_t *mcp_initialized(void) MUST_CHECK;
/* cursor: from the previous page, or NULL. */
json_t *mcp_list_tools(json_int_t id, const char *cursor) MUST_CHECK;
/* arguments may be NULL. The token for the call's progress is the id. */
json_t *mcp_call_tool(json_int_t id, const char *name, json_t *arguments)
    __attribute__((nonnull(2))) MUST_CHECK;
/* The notification that nobody waits for the answer to the request of that id any more. */
json_t *mcp_cancelled(json_int_t id) MUST_CHECK;

/*
 * The answer to a server's request, a new reference: a client that offers nothing says that it is
 * there, and refuses all else (JSON-RPC's -32601). NULL if the message is no request.
 */
json_t *mcp_answer(const json_t *message) NONNULL MUST_CHECK;

/* Gives a reply's result, borrowed; ERROR_INVALID with the server's message if it is an error. */
int mcp_result(const json_t *reply, const json_t **result_out,
               struct error *err) NONNULL MUST_CHECK;
/* Appends the tools in a list result, objects with a name, to `tools`. */
void mcp_add_tools(const json_t *result, json_t *tools) NONNULL;
/* Appends the names of those tools to `names`. */
void mcp_add_tool_names(const json_t *tools, json_t *names) NONNULL;
/* Returns {"is_error","text"} of a call's result. A new reference. */
json_t *mcp_call_outcome(const json_t *result) NONNULL MUST_CHECK;

/*
 * The messages to a server that is a program, which is started for them: the greeting, the list if
 * it is wanted, a call if tool is not NULL. A new reference.
 */
json_t *mcp_program_messages(bool with_list, const char *tool, json_t *arguments) MUST_CHECK;
/*
 * Reads the program's replies to them (NULL: none): appends its tools to `tools`; *result_out is
 * the call's result, a new reference, or NULL. Errors as mcp_result().
 */
int mcp_program_read(const json_t *replies, json_t *tools, json_t **result_out, struct error *err)
    __attribute__((nonnull(2, 3, 4))) MUST_CHECK;

#endif
