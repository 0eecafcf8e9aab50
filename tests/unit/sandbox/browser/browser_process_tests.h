/*
 * The tests of the browser's processes, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_BROWSER_PROCESS_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_BROWSER_PROCESS_TESTS_H

int browser_process_tests(void);
int chromium_tests(void);

#endif
