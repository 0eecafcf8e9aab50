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
int actions_tests(void);
int browser_calls_tests(void);
int browser_input_tests(void);
int browser_pages_tests(void);
int browser_storage_tests(void);
int browser_tests(void);
int page_content_tests(void);
int page_state_tests(void);
int terminal_filter_tests(void);
int filter_limits_tests(void);
int credential_socket_tests(void);
int credentials_tests(void);
int git_address_tests(void);
int connection_acceptor_tests(void);
int http_connection_tests(void);
int http_server_tests(void);
int http_head_tests(void);
int identity_tests(void);
int init_tests(void);
int path_scope_tests(void);
int fork_request_tests(void);
int server_proof_tests(void);
int file_editor_tests(void);
int file_tool_tests(void);
int patch_tests(void);
int search_tests(void);
int files_tests(void);
int mcp_stdio_tests(void);
int ports_tests(void);
int env_script_tests(void);
int journal_tests(void);
int terminal_keys_tests(void);
int preview_listener_tests(void);
int program_tests(void);
int repository_fetch_tests(void);
int workspace_repository_tests(void);
int shell_record_tests(void);
int shell_split_tests(void);
int terminal_text_tests(void);
int project_roots_tests(void);
int unzip_tests(void);

#endif
