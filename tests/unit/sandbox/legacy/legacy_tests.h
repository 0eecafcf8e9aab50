/*
 * The tests of the older action API, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_LEGACY_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_LEGACY_TESTS_H

int legacy_actions_tests(void);
int legacy_files_tests(void);
int legacy_transfer_tests(void);
int python_repl_tests(void);

#endif
