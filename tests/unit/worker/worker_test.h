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

int control_tests(void);
int history_tests(void);
int mask_tests(void);
int messages_tests(void);
int model_tests(void);
int observation_tests(void);
int policy_tests(void);
int stuck_tests(void);
int takeover_tests(void);
int task_tracker_tests(void);
int view_tests(void);

#endif
