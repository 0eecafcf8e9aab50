/*
 * The tests of actions in a real shell, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_TERMINAL_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_TERMINAL_TESTS_H

int terminal_tests(void);
int terminal_ends_tests(void);
int terminal_running_tests(void);

#endif
