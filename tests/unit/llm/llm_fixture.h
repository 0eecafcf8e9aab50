/*
 * Shared by the tests of lib/llm: a model server of canned answers, and a call to it.
 */
#ifndef DEFT_TESTS_UNIT_LLM_LLM_FIXTURE_H
#define DEFT_TESTS_UNIT_LLM_LLM_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/secret.h"
#include "client/test_server.h"
#include "llm/llm.h"

#define TEST_JSON_HEAD                                                                             \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define TEST_SSE_HEAD                                                                              \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define TEST_SSE(json) "data: " json "\n\n"
#define TEST_STOP TEST_SSE("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}")
#define TEST_END TEST_SSE("[DONE]")
/* A piece with that text in it. */
#define TEST_TEXT(text)                                                                            \
    TEST_SSE("{\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}")

/* For cmocka's group: *state is a struct llm with private addresses and tests/data/scripted. */
int llm_fixture_set_up(void **state);
int llm_fixture_tear_down(void **state);

/* A call and all that came of it. */
struct asked {
    json_t *spec;
    json_t *messages;
    json_t *tools;
    struct secret key;
    const struct llm_listener *listener; /* NULL: none */
    bool is_single_attempt;
    bool releases_stack;
    struct llm_call *call;
    struct llm_reply reply;
    struct llm_failure failure;
    struct error err;
};

/* model: with its prefix; spec_more: members as JSON; retries wait no time. */
void asked_init(struct asked *asked, struct llm *llm, const char *model, const char *base_url,
                const char *spec_more);
void asked_done(struct asked *asked);
/* Runs the call: 0 or -1. */
int asked_run(struct asked *asked);
/* Asks openai/test at the server. */
int ask_server(struct asked *asked, struct llm *llm, struct test_server *server,
               const char *spec_more);

/* The parsed JSON; ends the program if it does not parse. A new reference. */
json_t *parsed(const char *text);
/* The JSON that request i carried. A new reference. */
json_t *sent_body(struct test_server *server, size_t i);
/* Fails unless json (NULL: nothing) has the value of that text. */
void assert_json(const json_t *json, const char *expected);

/*
 * Fails unless the reply has the words "I look.", after the thought "hm" (signature "sig") and a
 * redacted one with that data, and calls terminal with {"command":"ls"}, and another without
 * arguments.
 */
void assert_looks(const struct llm_reply *reply, const char *model, const char *redacted,
                  const char *first_call_id);
/* Fails unless the model's whole answer of these bytes leads to a reply with that finish reason. */
void assert_finish_reason(struct llm *llm, const char *model, const char *bytes,
                          const char *expected);
/* For a listener whose owner is a struct strbuf: "~thought|word|", and nothing for failures. */
void collect_piece(void *owner, const struct llm_piece *piece);
void ignore_failure(void *owner, const struct llm_attempt *attempt);

/* JSON whose texts are in single quotes, for readable tests, as JSON. mem_free() it. */
char *json_of_quotes(const char *text);
/* The same, parsed; ends the program if it does not parse. A new reference. */
json_t *parsed_quotes(const char *text);
/* Fails unless the JSON text has that value (in single quotes; NULL: no member) at path. */
#define assert_quotes_at(text, path, expected)                                                     \
    assert_quotes_at_line((text), (path), (expected), __FILE__, __LINE__)
void assert_quotes_at_line(const char *text, const char *path, const char *expected,
                           const char *file, int line);

#endif
