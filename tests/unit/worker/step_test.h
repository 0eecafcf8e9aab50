/*
 * Tests of the steps of a run and of its calls on a claimed conversation, a group per module: as
 * agent_test.h, in a program of their own.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_STEP_TEST_H
#define DEFT_TESTS_UNIT_WORKER_STEP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

/* Pieces of logs and scripts. */
#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running)"
#define SPOKEN "Message(user) S(last_user_message_id)"
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define COMMAND(command) CALL("terminal", "{\"command\": \"" command "\"}")
#define FINISH CALL("finish", "{\"message\": \"done\"}")
#define CALLS(calls) "{\"turns\": [{\"steps\": [{\"calls\": [" calls "]}]}]}"
#define UNUSED_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"unused\"}]}]}"

/* A claimed new conversation whose model is not asked by itself. more: of the start request. */
void step_begin(struct claimed_agent *claimed, void **state, const char *more) NONNULL;
/* Fails the test with the error's message if rc is not 0. */
void step_check(int rc, const struct error *err) NONNULL;
/* The claimed conversation's log, row, and newest event of a kind. */
void assert_step_log(struct claimed_agent *claimed, const char *expected) NONNULL;
void assert_step_row(struct claimed_agent *claimed, const char *expected) NONNULL;
void step_last_event(struct claimed_agent *claimed, const char *kind, struct strbuf *out) NONNULL;
/* The newest event of a kind has that value (JSON; NULL: none) there. */
void assert_step_event(struct claimed_agent *claimed, const char *kind, const char *path,
                       const char *expected) __attribute__((nonnull(1, 2, 3)));
/* A number of its row. */
int64_t step_number(struct claimed_agent *claimed, const char *column) NONNULL;

int llm_response_tests(void);
int condense_step_tests(void);
int crash_points_tests(void);
int delegate_call_tests(void);
int delta_stream_tests(void);
int llm_step_tests(void);
int fallback_tests(void);
int risk_query_tests(void);
int outage_tests(void);
int summary_tests(void);
int loop_tests(void);
int pending_result_tests(void);
int sandbox_address_tests(void);
int run_end_tests(void);
int secret_lookup_tests(void);
int start_child_tests(void);
int task_call_tests(void);

#endif
