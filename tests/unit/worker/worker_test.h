/*
 * The tests of the worker's pure parts, a group per module.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_TEST_H
#define DEFT_TESTS_UNIT_WORKER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int run_control_tests(void);
int database_retry_tests(void);
int call_plan_tests(void);
int event_size_tests(void);
int history_tests(void);
int invoke_skill_tests(void);
int secret_list_tests(void);
int message_forms_tests(void);
int messages_tests(void);
int model_tests(void);
int observation_tests(void);
int policy_tests(void);
int receivers_tests(void);
int stuck_tests(void);
int takeover_tests(void);
int vision_tests(void);
int task_tracker_tests(void);
int token_gauge_tests(void);
int model_view_tests(void);
int worker_tool_tests(void);

#endif
