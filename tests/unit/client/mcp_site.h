/*
 * A server for tests of signing in: an MCP server at /mcp that is its own authorization server.
 *
 * Ownership: site_close() frees it.
 */
#ifndef DEFT_TESTS_UNIT_CLIENT_MCP_SITE_H
#define DEFT_TESTS_UNIT_CLIENT_MCP_SITE_H

#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "client/test_server.h"

enum { SITE_REPLIES_MAX = 16, SITE_N_DISCOVERY = 3 };

struct site {
    struct test_server *server;
    struct test_reply replies[SITE_REPLIES_MAX];
    struct strbuf texts[SITE_REPLIES_MAX];
    size_t n;
};

/* Members of metadata, in addition to those that it always has. */
#define SITE_REGISTERS ",\"registration_endpoint\":\"%U/register\""
#define SITE_TOKENS                                                                                \
    "{\"access_token\":\"the-access\",\"refresh_token\":\"the-refresh\",\"expires_in\":3600,"      \
    "\"token_type\":\"Bearer\"}"

struct site *site_open(void);
void site_close(struct site *site) NONNULL;
/* Its next answer; "%U" in the body stands for its address. */
void site_add(struct site *site, const char *status, const char *body) NONNULL;
/* Its next three answers, to a search for its authorization server, with further metadata. */
void site_add_discovery(struct site *site, const char *more) NONNULL;
/* Its next three answers, to a test: it has the tool "a". */
void site_add_tools(struct site *site) NONNULL;

#endif
