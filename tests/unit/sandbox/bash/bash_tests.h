/*
 * The tests of /api/bash, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_BASH_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_BASH_TESTS_H

int bash_commands_tests(void);
int bash_events_tests(void);
int bash_search_tests(void);

#endif
