/*
 * A conversation whose model is a test server, and jobs on it, each run in the test's thread.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_JOBS_JOB_FIXTURE_H
#define DEFT_TESTS_UNIT_WORKER_JOBS_JOB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "client/test_server.h"
#include "worker/agent/core/run_control.h"
#include "worker/run_fixture.h"

#define MODEL_HEAD(status)                                                                         \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
/* A model's answer with that text. */
#define MODEL_ANSWER(text)                                                                         \
    MODEL_HEAD("200 OK")                                                                           \
    "{\"id\": \"r1\", \"choices\": [{\"index\": 0, \"finish_reason\": \"stop\", \"message\":"      \
    " {\"role\": \"assistant\", \"content\": \"" text "\"}}],"                                     \
    " \"usage\": {\"prompt_tokens\": 11, \"completion_tokens\": 3}}"
#define MODEL_REFUSAL(words)                                                                       \
    MODEL_HEAD("400 Bad Request") "{\"error\": {\"message\": \"" words "\"}}"

#define FIRST_MESSAGE "SystemPrompt Message(user) S(last_user_message_id) S(running)"

struct job_test {
    struct run_fixture *fixture;
    struct test_server *server;
    struct test_reply reply;
    struct uuid id;  /* of the conversation */
    struct uuid key; /* of the last job */
    struct run_control control;
    struct strbuf result; /* of the last job, JSON; "": none */
};

/*
 * A conversation with a first message, "go", that no worker may claim, and a model whose every
 * answer are these bytes. more: as for run_new_conversation().
 */
void job_test_begin(struct job_test *test, struct run_fixture *fixture, const char *answer,
                    const char *more);
void job_test_end(struct job_test *test);

/* Adds the only job and claims it; job_done() it. payload: JSON. */
struct job job_test_claim(struct job_test *test, const char *kind, const char *payload);
/* Takes the result of the finished job: test->result. */
void job_test_take_result(struct job_test *test);
/* Runs a job until it is finished, and takes its result. */
void job_test_run(struct job_test *test, const char *kind, const char *payload);
/* The first cell of the conversation's row: an expression over it. */
int64_t job_test_row(struct job_test *test, const char *expression);
/* Changes the conversation's row: assignments. */
void job_test_change(struct job_test *test, const char *assignments);
/* Stores the events as a client would. */
void job_test_append(struct job_test *test, struct event_list *events);
size_t job_test_n_asked(struct job_test *test);
/* The body of request i to the model. */
const char *job_test_asked(struct job_test *test, size_t i);
/* The conversation's log, as assert_log(). */
#define assert_job_log(test, expected) assert_log((test)->fixture, &(test)->id, (expected))

#endif
