/*
 * A claimed conversation with a pending call of an MCP server's tool.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_MCP_CALLED_H
#define DEFT_TESTS_UNIT_WORKER_MCP_CALLED_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "client/test_server.h"
#include "model/tools/agent_tool.h"
#include "worker/run_fixture.h"

/* Answers to the first and the second call of a session. */
#define RESULT ANSWER("{\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}")
#define SECOND ANSWER("{\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"more\"}]}}")

struct called {
    struct claimed_agent claimed;
    struct test_server *server;
    json_t *listed;
    struct agent_tool tool;
    size_t action;
    json_t *observation;
    struct strbuf problem;
    struct error err;
    int rc;
    void (*settled)(struct called *called); /* before its progress is told; NULL: nothing */
    int n_settled;
    int64_t again_ms; /* until it may be told again, after the first time that it was */
};

/* The server gives those replies; NULL: the test names a server of its own. */
void called_begin(struct called *called, void **state, const struct test_reply *replies, size_t n)
    __attribute__((nonnull(1, 2)));
/* Makes those the agent's servers. */
void called_configure(struct called *called, const char *config) NONNULL;
void called_end(struct called *called) NONNULL;
/* Runs the call, again if it has run before. */
void called_run(struct called *called) NONNULL;
/* Its result is that text. */
void called_assert_text(const struct called *called, const char *expected) NONNULL;

#endif
