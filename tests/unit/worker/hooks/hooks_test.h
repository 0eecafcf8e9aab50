/*
 * Tests of the hooks of conversations, a group per module, over a real PostgreSQL and a stub
 * sandbox that answers hooks as a test says.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_HOOKS_HOOKS_TEST_H
#define DEFT_TESTS_UNIT_WORKER_HOOKS_HOOKS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "support/json_path.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

/* Pieces of logs and scripts. */
#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "
#define SPOKEN "Message(user) S(last_user_message_id) "
#define SAID "S(stats) Message(agent) S(finished)"
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define COMMAND(command) CALL("terminal", "{\"command\": \"" command "\"}")
#define THINK CALL("think", "{\"thought\": \"hm\"}")
#define FINISH CALL("finish", "{\"message\": \"done\"}")
#define CALLS(calls) "{\"calls\": [" calls "]}"
#define SAYS "{\"text\": \"well\"}"
#define TURN(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"

/* Members of a start request. */
#define HOOKS(config) "{\"hook_config\": {" config "}}"
#define ON_TOOL(event, matcher, hooks)                                                             \
    "\"" event "\": [{\"matcher\": \"" matcher "\", \"hooks\": [" hooks "]}]"
#define ON(event, hooks) ON_TOOL(event, "*", hooks)
#define RUNS(command) "{\"type\": \"command\", \"command\": \"" command "\"}"

/* The whole JSON of the n-th event of that kind, from 0; "" if there is none. */
void hooks_event(struct run_fixture *fixture, const struct uuid *id, const char *kind, size_t n,
                 struct strbuf *out) NONNULL;
/* A member of the n-th event of that kind. */
void assert_event_at(struct run_fixture *fixture, const struct uuid *id, const char *kind, size_t n,
                     const char *path, const char *expected) __attribute__((nonnull(1, 2, 3, 5)));
/* A run of a new conversation, up to where one more hook was asked for. */
void hooks_begin(struct background_run *run, struct run_fixture *fixture, const char *script,
                 const char *more) NONNULL;

int call_hooks_tests(void);
int child_hooks_tests(void);
int hook_model_tests(void);
int hook_request_tests(void);
int hook_run_tests(void);
int message_hooks_tests(void);
int stop_hooks_tests(void);

#endif
