/*
 * The tests of git in the sandbox, by the image's git on real repositories; a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_GIT_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_GIT_TESTS_H

int git_base_tests(void);
int git_routes_tests(void);
int git_diff_tests(void);
int clone_tests(void);
int git_hooks_tests(void);
int fetch_copy_tests(void);
int credential_helper_tests(void);

#endif
