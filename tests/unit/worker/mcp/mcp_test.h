/*
 * Shared by the tests of a run's MCP servers: answers of a server, and configurations that name it.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_MCP_TEST_H
#define DEFT_TESTS_UNIT_WORKER_MCP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "client/test_server.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
/* A JSON answer; the connection ends it. */
#define ANSWER(json) {.bytes = HEAD "\r\n" json, .ending = TEST_CLOSE}
/* The answers to a greeting: a session, and the word that it was taken. */
#define GREETING                                                                                   \
    {.bytes = HEAD "Mcp-Session-Id: of-the-test\r\n\r\n"                                           \
                   "{\"id\":1,\"result\":{\"protocolVersion\":\"2025-03-26\"}}",                   \
     .ending = TEST_CLOSE},                                                                        \
    {                                                                                              \
        .bytes = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",        \
        .ending = TEST_CLOSE                                                                       \
    }
/* An answer that is a stream, and an event of it. */
#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define EVENT(json) "data: " json "\n\n"
#define REFUSAL(status)                                                                            \
    {.bytes = "HTTP/1.1 " status " No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",          \
     .ending = TEST_CLOSE}

/* Members of a start request: an agent with the server under the name "one". */
void mcp_start_request(struct test_server *server, struct strbuf *out) NONNULL;
/* How many requests of the server name that method. */
size_t mcp_n_requests(struct test_server *server, const char *method) NONNULL;

int project_servers_tests(void);
int ended_sessions_tests(void);
int program_call_tests(void);
int program_progress_tests(void);
int server_call_tests(void);
int server_listing_tests(void);
int server_progress_tests(void);
int server_token_tests(void);
int stream_call_tests(void);
int variables_tests(void);

#endif
