/*
 * Requests through the whole dispatcher, without FastCGI: real database, real tables, two users.
 *
 * Ownership: a test_answer is the caller's until test_answer_done().
 */
#ifndef DEFT_TESTS_UNIT_FCGI_FIXTURE_H
#define DEFT_TESTS_UNIT_FCGI_FIXTURE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "fcgi/core/fcgi_context.h"

struct fixture {
    struct fcgi_settings settings;
    struct fcgi_context context;
    _Atomic(int64_t) last_active_ms;
    struct uuid alice;
    struct uuid bob;
    char alice_key[64];
    char bob_key[64];
    char sandbox_id[17]; /* of the sandbox that was added last (fake_sandbox.h) */
};

enum caller { NOBODY, ALICE, BOB };

struct test_answer {
    int status;
    struct strbuf head;
    struct strbuf body;
};

/* Takes all slots of waiting requests. Returns how many were free. */
size_t test_take_waits(struct fixture *fixture);
void test_give_waits(struct fixture *fixture, size_t n);

/* For cmocka_run_group_tests(): *state is a struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

void test_answer_done(struct test_answer *answer);
/* One request on the agent origin; path with query, body NULL for none. */
struct test_answer test_dispatch(void *state, enum caller caller, const char *method,
                                 const char *path, const char *body);
/* The same with more parameters "NAME=value", ends with NULL; DEFT_ORIGIN is agent unless given,
 * and CONTENT_LENGTH what the body has. */
struct test_answer test_dispatch_with(void *state, const char *const *params, const char *method,
                                      const char *path, const char *body);
/* Fails the test unless the status is that and the body contains the text: a word of an error, or
 * text that is no JSON. */
void assert_answer(const struct test_answer *answer, int status, const char *text);
/* Fails the test unless the status is that and the body is this JSON, by value. */
void assert_answer_json(const struct test_answer *answer, int status, const char *expected);
#define SUCCESS "{\"success\":true}"
/* Fails the test unless the status is that and this member of the body's object is this text. */
void assert_answer_member(const struct test_answer *answer, int status, const char *name,
                          const char *text);
/* The body as JSON; a new reference. */
json_t *answer_json(const struct test_answer *answer);

/* A start request of an agent with the terminal; members is put in front of its own. */
#define START_BODY(members)                                                                        \
    "{" members "\"agent\":{\"kind\":\"Agent\",\"llm\":{\"model\":\"scripted/hello\","             \
    "\"api_key\":\"sk-secret\"},\"tools\":[{\"name\":\"terminal\"}]},"                             \
    "\"workspace\":{\"working_dir\":\"/workspace/project\"}}"

/* A new conversation of Alice; its path "/api/conversations/<id>". */
struct test_path {
    char text[200];
    struct uuid id;
};
struct test_path test_conversation(void *state);
/* "<path><rest>"; lives until the next call with that path. */
const char *test_under(struct test_path *path, const char *rest);

#endif
