/*
 * Tests of an agent's parts on a claimed conversation, a group per module: each takes one step of a
 * run by itself, over a real PostgreSQL and a stub sandbox.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_AGENT_TEST_H
#define DEFT_TESTS_UNIT_WORKER_AGENT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

/* Pieces of logs and scripts. */
#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "
#define SPOKEN "Message(user) S(last_user_message_id) "
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define COMMAND(command) CALL("terminal", "{\"command\": \"" command "\"}")
#define FINISH CALL("finish", "{\"message\": \"done\"}")
#define CALLS(calls) "{\"turns\": [{\"steps\": [{\"calls\": [" calls "]}]}]}"

int condensed_history_tests(void);
int delta_outbox_tests(void);
int event_writer_tests(void);
int hook_reading_tests(void);
int pending_call_tests(void);
int project_reading_tests(void);
int sandbox_call_tests(void);
int sandbox_http_tests(void);
int sandbox_tests(void);

#endif
