/*
 * The tests of sandbox, a group per module.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_TEST_H
#define DEFT_TESTS_UNIT_SANDBOX_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int account_tests(void);
int browser_tests(void);
int capture_tests(void);
int chunked_tests(void);
int credentials_tests(void);
int git_address_tests(void);
int identity_tests(void);
int inside_tests(void);
int editor_tests(void);
int ports_tests(void);
int exports_tests(void);
int journal_tests(void);
int keys_tests(void);
int multipart_tests(void);
int preview_door_tests(void);
int repository_tests(void);
int shell_record_tests(void);
int statements_tests(void);
int terminal_text_tests(void);

#endif
