/*
 * The tests of actions in a whole server, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_ACTION_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_ACTION_TESTS_H

int action_requests_tests(void);
int action_tools_tests(void);
int hook_tool_tests(void);

#endif
