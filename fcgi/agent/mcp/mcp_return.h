/*
 * The parameters of a sign-in's redirect back to deft (RFC 6749, section 4.1.2; RFC 9207).
 */
#ifndef DEFT_FCGI_AGENT_MCP_MCP_RETURN_H
#define DEFT_FCGI_AGENT_MCP_MCP_RETURN_H

#include "base/attr.h"

/* Missing parameters are empty texts. */
struct mcp_return {
    char *state;
    char *code;
    char *error;
    char *issuer;
};

/* clang-format off */
#define MCP_RETURN_INIT {NULL, NULL, NULL, NULL}
/* clang-format on */

void mcp_return_done(struct mcp_return *back);
/* Reads the query of a URL, or of a path. */
void mcp_return_from_url(struct mcp_return *back, const char *url) NONNULL;

#endif
