#include "unit/sandbox/sandbox_test.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += account_tests();
    n_failed += actions_tests();
    n_failed += identity_tests();
    n_failed += init_tests();
    n_failed += browser_calls_tests();
    n_failed += browser_input_tests();
    n_failed += browser_pages_tests();
    n_failed += browser_storage_tests();
    n_failed += browser_tests();
    n_failed += page_content_tests();
    n_failed += page_state_tests();
    n_failed += terminal_filter_tests();
    n_failed += filter_limits_tests();
    n_failed += credential_socket_tests();
    n_failed += credentials_tests();
    n_failed += git_address_tests();
    n_failed += http_head_tests();
    n_failed += connection_acceptor_tests();
    n_failed += http_connection_tests();
    n_failed += http_server_tests();
    n_failed += path_scope_tests();
    n_failed += fork_request_tests();
    n_failed += server_proof_tests();
    n_failed += file_editor_tests();
    n_failed += file_tool_tests();
    n_failed += patch_tests();
    n_failed += search_tests();
    n_failed += files_tests();
    n_failed += mcp_stdio_tests();
    n_failed += ports_tests();
    n_failed += env_script_tests();
    n_failed += journal_tests();
    n_failed += terminal_keys_tests();
    n_failed += preview_listener_tests();
    n_failed += program_tests();
    n_failed += repository_fetch_tests();
    n_failed += workspace_repository_tests();
    n_failed += shell_record_tests();
    n_failed += shell_split_tests();
    n_failed += terminal_text_tests();
    n_failed += project_roots_tests();
    n_failed += unzip_tests();
    return n_failed > 0;
}
