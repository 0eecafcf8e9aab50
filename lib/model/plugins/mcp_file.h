/*
 * The MCP servers that a file of a workspace names: `.mcp.json`, {"mcpServers": {name: server}} or
 * that map alone. Whoever wrote the file is not trusted: of a server only the members that deft
 * uses are taken, their texts are such that a user who reads them sees what they are, and sizes and
 * numbers are limited.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_PLUGINS_MCP_FILE_H
#define DEFT_MODEL_PLUGINS_MCP_FILE_H

#include <jansson.h>

#include "base/attr.h"

/* Only so many servers of a workspace are known. */
enum { MCP_FILE_SERVERS_MAX = 16 };

/*
 * Adds the file's servers to found, {name: {"server", "source", "digest"}}: the server's
 * configuration, the file's path, and a hash of name and configuration. One of a name that found
 * has already replaces that. Appends to problems why others are left out, at most ten texts. taken:
 * names that are in use, as the members of an object, or NULL.
 */
void mcp_file_read(const char *text, const char *path, const json_t *taken, json_t *found,
                   json_t *problems) __attribute__((nonnull(1, 2, 4, 5)));

#endif
