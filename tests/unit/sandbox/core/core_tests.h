/*
 * The tests of what the server's other parts stand on, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_CORE_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_CORE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int action_routes_tests(void);
int child_process_tests(void);
int event_loop_tests(void);
int memory_kills_tests(void);
int textfile_tests(void);
int tunnel_tests(void);

#endif
