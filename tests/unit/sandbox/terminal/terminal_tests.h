/*
 * The tests of actions in a real shell, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_TERMINAL_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_TERMINAL_TESTS_H

int terminal_tests(void);
int terminal_ends_tests(void);
int terminal_running_tests(void);
int action_requests_tests(void);
int hook_tool_tests(void);
int action_tools_tests(void);

#endif
