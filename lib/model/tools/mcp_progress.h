/*
 * Progress that an MCP server reports of a call: numbers, and perhaps a message for people. Outside
 * data: what is not as the protocol has it is ignored.
 *
 * Source: Model Context Protocol, "Progress", revision 2025-06-18.
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_MCP_PROGRESS_H
#define DEFT_MODEL_TOOLS_MCP_PROGRESS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/* A longer message is left out: it may not be cut before secrets are masked in it. */
enum { MCP_PROGRESS_MESSAGE_MAX_BYTES = 4096 };

struct mcp_progress {
    double done;         /* finite */
    double total;        /* above 0 and finite; 0: not known */
    const char *message; /* borrowed; "": none */
};

/*
 * Reads {"progress", "total", "message"}, whose message lives as long as the JSON. False if there
 * is no number of progress; a total or a message that cannot be used is left out.
 */
bool mcp_progress_read(const json_t *json, struct mcp_progress *progress_out)
    __attribute__((nonnull(2))) MUST_CHECK;
/* The same from a server's notification; false if it is another message, or of another token. */
bool mcp_progress_of(const json_t *notification, json_int_t token,
                     struct mcp_progress *progress_out) NONNULL MUST_CHECK;
/* The object that mcp_progress_read() reads; a new reference. */
json_t *mcp_progress_to_json(const struct mcp_progress *progress) NONNULL MUST_CHECK;

#endif
