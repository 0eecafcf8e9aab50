/*
 * The tests of lib/base, a group per module.
 */
#ifndef DEFT_TESTS_UNIT_BASE_TEST_H
#define DEFT_TESTS_UNIT_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int chunked_tests(void);
int clock_tests(void);
int confine_calls_tests(void);
int confine_tests(void);
int crash_tests(void);
int crypto_tests(void);
int encode_tests(void);
int error_tests(void);
int event_stream_tests(void);
int fernet_tests(void);
int file_tests(void);
int json_tests(void);
int lines_tests(void);
int lock_tests(void);
int log_tests(void);
int mem_tests(void);
int multipart_tests(void);
int process_tests(void);
int query_tests(void);
int sandbox_key_tests(void);
int secret_tests(void);
int settings_tests(void);
int strbuf_tests(void);
int text_folder_tests(void);
int text_tests(void);
int uuid_tests(void);
int zip_tests(void);

#endif
