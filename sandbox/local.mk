# sandbox: deft-action, one static binary
bin_PROGRAMS += deft-action

# All but main.c, shared with the unit tests.
SANDBOX_SOURCES = \
	sandbox/core/account.c sandbox/core/account.h \
	sandbox/checkpoint/checkout.c sandbox/checkpoint/checkout.h \
	sandbox/checkpoint/checkpoint_routes.c sandbox/checkpoint/checkpoint_routes.h \
	sandbox/checkpoint/checkpoint_tool.c sandbox/checkpoint/checkpoint_tool.h \
	sandbox/checkpoint/file_list.c sandbox/checkpoint/file_list.h \
	sandbox/checkpoint/left_out.c sandbox/checkpoint/left_out.h \
	sandbox/checkpoint/object_store.c sandbox/checkpoint/object_store.h \
	sandbox/checkpoint/file_snapshot.c sandbox/checkpoint/file_snapshot.h \
	sandbox/checkpoint/parent_folder.c sandbox/checkpoint/parent_folder.h \
	sandbox/checkpoint/tree.c sandbox/checkpoint/tree.h \
	sandbox/actions/actions.c sandbox/actions/actions.h \
	sandbox/actions/file_tool.c sandbox/actions/file_tool.h \
	sandbox/actions/hook_tool.c sandbox/actions/hook_tool.h \
	sandbox/editor/apply_patch.c sandbox/editor/apply_patch.h \
	sandbox/editor/list_directory.c \
	sandbox/editor/patch.c sandbox/editor/patch.h \
	sandbox/editor/text_tools.c sandbox/editor/text_tools.h \
	sandbox/search/file_walk.c sandbox/search/file_walk.h \
	sandbox/search/found_files.c sandbox/search/found_files.h \
	sandbox/search/glob_pattern.c sandbox/search/glob_pattern.h \
	sandbox/search/glob_tool.c sandbox/search/search_tools.h \
	sandbox/search/grep_pattern.c sandbox/search/grep_pattern.h \
	sandbox/search/grep_tool.c \
	sandbox/search/search_words.c sandbox/search/search_words.h \
	sandbox/files/archive.c sandbox/files/archive.h \
	sandbox/bash/bash.c sandbox/bash/bash.h \
	sandbox/bash/bash_events.c sandbox/bash/bash_events.h \
	sandbox/bash/bash_waits.c sandbox/bash/bash_waits.h \
	sandbox/bash/bash_routes.c sandbox/bash/bash_routes.h \
	sandbox/browser/browser.c sandbox/browser/browser.h \
	sandbox/browser/chromium.c sandbox/browser/chromium.h \
	sandbox/browser/cdp.c sandbox/browser/cdp.h \
	sandbox/browser/cdp_message.c sandbox/browser/cdp_message.h \
	sandbox/browser/page_content.c sandbox/browser/page_content.h \
	sandbox/browser/downloads.c sandbox/browser/downloads.h \
	sandbox/browser/browser_spec.h \
	sandbox/browser/browser_session.c sandbox/browser/browser_session.h \
	sandbox/browser/driver_process.c sandbox/browser/driver_process.h \
	sandbox/browser/driver.c sandbox/browser/driver.h \
	sandbox/browser/page_frames.c sandbox/browser/page_frames.h \
	sandbox/browser/input.c sandbox/browser/input.h \
	sandbox/browser/navigate.c sandbox/browser/navigate.h \
	sandbox/browser/recovery.c sandbox/browser/recovery.h \
	sandbox/browser/screenshot.c sandbox/browser/screenshot.h \
	sandbox/browser/page_state.c sandbox/browser/page_state.h \
	sandbox/browser/storage.c sandbox/browser/storage.h \
	sandbox/browser/tabs.c sandbox/browser/tabs.h \
	sandbox/browser/browser_tools.c sandbox/browser/browser_tools.h \
	sandbox/browser/script.h \
	sandbox/terminal/terminal_filter.c sandbox/terminal/terminal_filter.h \
	sandbox/legacy/python_repl.c sandbox/legacy/python_repl.h sandbox/legacy/python_driver.h \
	sandbox/git/clone.c sandbox/git/clone.h \
	sandbox/files/project_files.c sandbox/files/project_files.h \
	sandbox/files/project_roots.c sandbox/files/project_roots.h \
	sandbox/git/credential_config.c sandbox/git/credential_config.h \
	sandbox/git/credential_socket.c sandbox/git/credential_socket.h \
	sandbox/git/credential_helper.c sandbox/git/credential_helper.h \
	sandbox/git/credential_routes.c sandbox/git/credential_routes.h \
	sandbox/git/credentials.c sandbox/git/credentials.h \
	sandbox/core/action_config.c sandbox/core/action_config.h \
	sandbox/actions/tool_session.c sandbox/actions/tool_session.h \
	sandbox/ports/mcp_stdio.c sandbox/ports/mcp_stdio.h \
	sandbox/ports/mcp_command.c sandbox/ports/mcp_command.h \
	sandbox/ports/mcp_process.c sandbox/ports/mcp_process.h \
	sandbox/ports/mcp_program.c sandbox/ports/mcp_program.h \
	sandbox/ports/mcp_programs.c sandbox/ports/mcp_programs.h \
	sandbox/http/request_waiters.c sandbox/http/request_waiters.h \
	sandbox/actions/progress_reports.c sandbox/actions/progress_reports.h \
	sandbox/actions/mcp_tool.c sandbox/actions/mcp_tool.h \
	sandbox/files/directories.c \
	sandbox/editor/file_editor.c sandbox/editor/file_editor.h \
	sandbox/editor/file_editor_result.h \
	sandbox/editor/file_editor_view.c \
	sandbox/core/fork_task.c sandbox/core/fork_task.h \
	sandbox/terminal/env_script.c sandbox/terminal/env_script.h \
	sandbox/legacy/legacy_actions.c sandbox/legacy/legacy_actions.h \
	sandbox/legacy/legacy_files.c sandbox/legacy/legacy_files.h \
	sandbox/legacy/legacy_list.c sandbox/legacy/legacy_list.h \
	sandbox/legacy/legacy_reply.c sandbox/legacy/legacy_reply.h \
	sandbox/legacy/legacy_transfer.c sandbox/legacy/legacy_transfer.h \
	sandbox/git/repository_fetch.c sandbox/git/repository_fetch.h \
	sandbox/git/fetch_copy.c sandbox/git/fetch_copy.h \
	sandbox/http/file_path.c sandbox/http/file_path.h \
	sandbox/files/files.c sandbox/files/files.h \
	sandbox/core/folder.c sandbox/core/folder.h \
	sandbox/git/git.c sandbox/git/git.h \
	sandbox/git/git_address.c sandbox/git/git_address.h \
	sandbox/git/git_diff.c sandbox/git/git_diff.h \
	sandbox/git/git_hooks.c sandbox/git/git_hooks.h \
	sandbox/git/git_routes.c sandbox/git/git_routes.h \
	sandbox/http/http_server.c sandbox/http/http_server.h \
	sandbox/http/http_connection.c sandbox/http/http_connection.h \
	sandbox/http/http_head.c sandbox/http/http_head.h \
	sandbox/http/http_reply.c sandbox/http/http_reply.h \
	sandbox/core/identity.c sandbox/core/identity.h \
	sandbox/init.c sandbox/init.h \
	sandbox/http/path_scope.c sandbox/http/path_scope.h \
	sandbox/http/fork_request.c sandbox/http/fork_request.h \
	sandbox/actions/journal.c sandbox/actions/journal.h \
	sandbox/actions/journal_file.c sandbox/actions/journal_file.h \
	sandbox/terminal/terminal_keys.c sandbox/terminal/terminal_keys.h \
	sandbox/core/action_limits.h \
	sandbox/editor/line_diff.c sandbox/editor/line_diff.h \
	sandbox/http/listen_socket.c sandbox/http/listen_socket.h \
	sandbox/ports/preview_listener.c sandbox/ports/preview_listener.h \
	sandbox/core/tunnel.c sandbox/core/tunnel.h \
	sandbox/core/event_loop.c sandbox/core/event_loop.h \
	sandbox/core/memory_kills.c sandbox/core/memory_kills.h \
	sandbox/core/action_observation.c sandbox/core/action_observation.h \
	sandbox/ports/ports.c sandbox/ports/ports.h \
	sandbox/http/server_proof.c sandbox/http/server_proof.h \
	sandbox/actions/repository_tool.c sandbox/actions/repository_tool.h \
	sandbox/core/child_process.c sandbox/core/child_process.h \
	sandbox/core/connection_acceptor.c sandbox/core/connection_acceptor.h \
	sandbox/core/program.c sandbox/core/program.h \
	sandbox/core/atomic_write.c sandbox/core/atomic_write.h \
	sandbox/git/workspace_repository.c sandbox/git/workspace_repository.h \
	sandbox/http/http_route.c sandbox/http/http_route.h \
	sandbox/http/server_request.c sandbox/http/server_request.h \
	sandbox/action_routes.c sandbox/action_routes.h \
	sandbox/core/action_server.h \
	sandbox/terminal/shell.c sandbox/terminal/shell.h \
	sandbox/terminal/shell_record.c sandbox/terminal/shell_record.h \
	sandbox/terminal/shell_script.h \
	sandbox/files/static_files.c sandbox/files/static_files.h \
	sandbox/terminal/output_file.c sandbox/terminal/output_file.h \
	sandbox/terminal/shell_split.c sandbox/terminal/shell_split.h \
	sandbox/server_lifecycle.c sandbox/server_lifecycle.h \
	sandbox/server_status.c sandbox/server_status.h \
	sandbox/ports/vscode.c sandbox/ports/vscode.h \
	sandbox/terminal/terminal_call.h \
	sandbox/terminal/terminal.c sandbox/terminal/terminal.h \
	sandbox/terminal/background_wait.c sandbox/terminal/background_wait.h \
	sandbox/terminal/terminal_report.c sandbox/terminal/terminal_report.h \
	sandbox/terminal/terminal_text.c sandbox/terminal/terminal_text.h \
	sandbox/core/textfile.c sandbox/core/textfile.h \
	sandbox/files/unzip.c sandbox/files/unzip.h \
	sandbox/http/validation.c sandbox/http/validation.h

noinst_LIBRARIES += libsandbox.a
libsandbox_a_SOURCES = $(SANDBOX_SOURCES)
SANDBOX_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
libsandbox_a_CPPFLAGS = $(SANDBOX_CPPFLAGS)
libsandbox_a_CFLAGS = $(AM_CFLAGS) $(DEFT_STATIC_CFLAGS)

deft_action_SOURCES = sandbox/main.c
deft_action_CPPFLAGS = $(SANDBOX_CPPFLAGS)
deft_action_CFLAGS = $(AM_CFLAGS) $(DEFT_STATIC_CFLAGS)
if SANITIZED
deft_action_LDFLAGS = $(AM_LDFLAGS)
SANDBOX_CRYPTO_LIBS = $(CRYPTO_LIBS)
else
deft_action_LDFLAGS = $(DEFT_STATIC_LDFLAGS) -Wl,--gc-sections
SANDBOX_CRYPTO_LIBS = $(CRYPTO_STATIC_LIBS)
endif
deft_action_LDADD = libsandbox.a libmodel.a libbase.a $(JANSSON_LIBS) $(HTTP_PARSER_LIBS) $(SANDBOX_CRYPTO_LIBS) $(ZLIB_LIBS) -lm

check_PROGRAMS += sandbox-test
sandbox_test_SOURCES = \
	tests/unit/sandbox/core/account_test.c \
	tests/unit/sandbox/actions/actions_test.c \
	tests/unit/sandbox/browser/browser_calls_test.c \
	tests/unit/sandbox/browser/browser_input_test.c \
	tests/unit/sandbox/browser/fake_browser.c tests/unit/sandbox/browser/fake_browser.h \
	tests/unit/sandbox/browser/browser_pages_test.c \
	tests/unit/sandbox/browser/browser_storage_test.c \
	tests/unit/sandbox/browser/browser_test.c \
	tests/unit/sandbox/browser/page_content_test.c \
	tests/unit/sandbox/browser/page_state_test.c \
	tests/unit/sandbox/terminal/filter_limits_test.c \
	tests/unit/sandbox/terminal/terminal_filter_test.c \
	tests/unit/sandbox/git/credential_socket_test.c \
	tests/unit/sandbox/git/credentials_test.c \
	tests/unit/sandbox/core/program_test.c \
	tests/unit/sandbox/git/repository_fetch_test.c \
	tests/unit/sandbox/editor/file_editor_test.c \
	tests/unit/sandbox/editor/patch_test.c \
	tests/unit/sandbox/actions/file_tool_test.c \
	tests/unit/sandbox/search/search_test.c \
	tests/unit/sandbox/files/files_test.c \
	tests/unit/sandbox/files/project_roots_test.c \
	tests/unit/sandbox/files/unzip_test.c \
	tests/unit/sandbox/git/git_address_test.c \
	tests/unit/sandbox/core/identity_test.c \
	tests/unit/sandbox/ports/mcp_stdio_test.c \
	tests/unit/sandbox/ports/ports_test.c \
	tests/unit/sandbox/terminal/env_script_test.c \
	tests/unit/sandbox/http/fork_request_test.c \
	tests/unit/sandbox/http/http_connection_test.c \
	tests/unit/sandbox/http/http_head_test.c \
	tests/unit/sandbox/core/connection_acceptor_test.c \
	tests/unit/sandbox/http/http_server_test.c \
	tests/unit/sandbox/http/path_scope_test.c \
	tests/unit/sandbox/http/server_proof_test.c \
	tests/unit/sandbox/actions/journal_test.c \
	tests/unit/sandbox/terminal/terminal_keys_test.c \
	tests/unit/sandbox/ports/preview_listener_test.c \
	tests/unit/sandbox/git/workspace_repository_test.c \
	tests/unit/sandbox/init_test.c \
	tests/unit/sandbox/sandbox_test.c \
	tests/unit/sandbox/sandbox_test.h \
	tests/unit/sandbox/terminal/shell_record_test.c \
	tests/unit/sandbox/terminal/shell_split_test.c \
	tests/unit/sandbox/terminal/terminal_text_test.c
sandbox_test_CPPFLAGS = $(SANDBOX_CPPFLAGS) -I$(top_srcdir)/tests -I$(top_srcdir)/tests/unit $(CMOCKA_CFLAGS)
sandbox_test_LDADD = libtestsupport.a libsandbox.a libmodel.a libbase.a $(HTTP_PARSER_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS) $(ZLIB_LIBS) -lm

# Whole servers in the test's process
SANDBOX_BENCH_SOURCES = \
	tests/unit/sandbox/action_bench.c tests/unit/sandbox/action_bench.h
SANDBOX_BENCH_CPPFLAGS = $(sandbox_test_CPPFLAGS) -I$(top_srcdir)/tests/unit
SANDBOX_BENCH_LIBS = libtestsupport.a $(sandbox_test_LDADD)

check_PROGRAMS += sandbox-files-test
sandbox_files_test_SOURCES = \
	tests/unit/sandbox/files/archive_test.c \
	tests/unit/sandbox/files/directories_test.c \
	tests/unit/sandbox/files/download_test.c \
	tests/unit/sandbox/files/files_tests.c tests/unit/sandbox/files/files_tests.h \
	tests/unit/sandbox/files/project_files_test.c \
	tests/unit/sandbox/files/upload_test.c \
	$(SANDBOX_BENCH_SOURCES)
sandbox_files_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_files_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-browser-test
sandbox_browser_test_SOURCES = \
	tests/unit/sandbox/browser/browser_process_test.c \
	tests/unit/sandbox/browser/browser_process_tests.c tests/unit/sandbox/browser/browser_process_tests.h \
	tests/unit/sandbox/browser/chromium_test.c \
	tests/unit/sandbox/browser/fake_chromium.c tests/unit/sandbox/browser/fake_chromium.h
sandbox_browser_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_browser_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += deft-action-test
deft_action_test_SOURCES = tests/unit/sandbox/main_test.c \
	tests/unit/support/program.c tests/unit/support/program.h
deft_action_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS) -DDEFT_ACTION='"$(abs_top_builddir)/deft-action"'
deft_action_test_LDADD = libtestsupport.a libbase.a $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
EXTRA_deft_action_test_DEPENDENCIES = deft-action$(EXEEXT)

check_PROGRAMS += sandbox-core-test
sandbox_core_test_SOURCES = \
	tests/unit/sandbox/action_routes_test.c \
	tests/unit/sandbox/core/core_tests.c tests/unit/sandbox/core/core_tests.h \
	tests/unit/sandbox/core/child_process_test.c \
	tests/unit/sandbox/core/event_loop_test.c \
	tests/unit/sandbox/core/memory_kills_test.c \
	tests/unit/sandbox/core/textfile_test.c \
	tests/unit/sandbox/core/tunnel_test.c
sandbox_core_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_core_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-bash-test
sandbox_bash_test_SOURCES = \
	tests/unit/sandbox/bash/bash_commands_test.c \
	tests/unit/sandbox/bash/bash_events_test.c \
	tests/unit/sandbox/bash/bash_search_test.c \
	tests/unit/sandbox/bash/bash_tests.c tests/unit/sandbox/bash/bash_tests.h \
	$(SANDBOX_BENCH_SOURCES)
sandbox_bash_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_bash_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-legacy-test
sandbox_legacy_test_SOURCES = \
	tests/unit/sandbox/legacy/legacy_actions_test.c \
	tests/unit/sandbox/legacy/legacy_files_test.c \
	tests/unit/sandbox/legacy/legacy_tests.c tests/unit/sandbox/legacy/legacy_tests.h \
	tests/unit/sandbox/legacy/legacy_transfer_test.c \
	tests/unit/sandbox/legacy/python_repl_test.c \
	$(SANDBOX_BENCH_SOURCES)
sandbox_legacy_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_legacy_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-git-test
sandbox_git_test_SOURCES = \
	tests/unit/sandbox/git/clone_test.c \
	tests/unit/sandbox/git/credential_helper_test.c \
	tests/unit/sandbox/git/fetch_copy_test.c \
	tests/unit/sandbox/git/git_base_test.c \
	tests/unit/sandbox/git/git_diff_test.c \
	tests/unit/sandbox/git/git_hooks_test.c \
	tests/unit/sandbox/git/git_routes_test.c \
	tests/unit/sandbox/git/git_tests.c tests/unit/sandbox/git/git_tests.h \
	$(SANDBOX_BENCH_SOURCES)
sandbox_git_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_git_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-checkpoint-test
sandbox_checkpoint_test_SOURCES = \
	tests/unit/sandbox/checkpoint/checkout_test.c \
	tests/unit/sandbox/checkpoint/checkpoint_bench.c tests/unit/sandbox/checkpoint/checkpoint_bench.h \
	tests/unit/sandbox/checkpoint/checkpoint_routes_test.c \
	tests/unit/sandbox/checkpoint/checkpoint_tests.c tests/unit/sandbox/checkpoint/checkpoint_tests.h \
	tests/unit/sandbox/checkpoint/file_list_test.c \
	tests/unit/sandbox/checkpoint/object_store_test.c \
	tests/unit/sandbox/checkpoint/file_snapshot_test.c \
	tests/unit/sandbox/terminal/terminal_calls.h \
	$(SANDBOX_BENCH_SOURCES)
sandbox_checkpoint_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_checkpoint_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_monotonic_ms
sandbox_checkpoint_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-actions-test
sandbox_actions_test_SOURCES = \
	tests/unit/sandbox/actions/action_requests_test.c \
	tests/unit/sandbox/actions/action_tests.c tests/unit/sandbox/actions/action_tests.h \
	tests/unit/sandbox/actions/action_tools_test.c \
	tests/unit/sandbox/actions/hook_tool_test.c \
	tests/unit/sandbox/terminal/terminal_calls.h \
	$(SANDBOX_BENCH_SOURCES)
sandbox_actions_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_actions_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-terminal-test
sandbox_terminal_test_SOURCES = \
	tests/unit/sandbox/terminal/terminal_calls.h \
	tests/unit/sandbox/terminal/terminal_ends_test.c \
	tests/unit/sandbox/terminal/terminal_running_test.c \
	tests/unit/sandbox/terminal/terminal_test.c \
	tests/unit/sandbox/terminal/terminal_tests.c tests/unit/sandbox/terminal/terminal_tests.h \
	$(SANDBOX_BENCH_SOURCES)
sandbox_terminal_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_terminal_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += sandbox-tools-test
sandbox_tools_test_SOURCES = \
	tests/unit/sandbox/core/action_config_test.c \
	tests/unit/sandbox/editor/editor_commands_test.c \
	tests/unit/sandbox/ports/mcp_calls.h \
	tests/unit/sandbox/ports/mcp_program_test.c \
	tests/unit/sandbox/ports/mcp_programs_test.c \
	tests/unit/sandbox/ports/mcp_replies_test.c \
	tests/unit/sandbox/ports/mcp_reports_test.c \
	tests/unit/sandbox/ports/ports_routes_test.c \
	tests/unit/sandbox/ports/preview_connections_test.c \
	tests/unit/sandbox/server_status_test.c \
	tests/unit/sandbox/tools_tests.c tests/unit/sandbox/tools_tests.h \
	$(SANDBOX_BENCH_SOURCES)
sandbox_tools_test_CPPFLAGS = $(SANDBOX_BENCH_CPPFLAGS)
sandbox_tools_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_monotonic_ms
sandbox_tools_test_LDADD = $(SANDBOX_BENCH_LIBS)

check_PROGRAMS += replay-sandbox_browser replay-sandbox_terminal replay-sandbox_multipart
SANDBOX_FUZZ_LIBS = libsandbox.a libmodel.a libbase.a $(HTTP_PARSER_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS) $(ZLIB_LIBS) -lm
replay_sandbox_browser_SOURCES = tests/fuzz/sandbox_browser.c tests/fuzz/replay.c
replay_sandbox_browser_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_browser"'
replay_sandbox_browser_LDADD = $(SANDBOX_FUZZ_LIBS)
replay_sandbox_terminal_SOURCES = tests/fuzz/sandbox_terminal.c tests/fuzz/replay.c
replay_sandbox_terminal_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_terminal"'
replay_sandbox_terminal_LDADD = $(SANDBOX_FUZZ_LIBS)
replay_sandbox_multipart_SOURCES = tests/fuzz/sandbox_multipart.c tests/fuzz/replay.c
replay_sandbox_multipart_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_multipart"'
replay_sandbox_multipart_LDADD = $(SANDBOX_FUZZ_LIBS)
check_PROGRAMS += replay-sandbox_http_head
replay_sandbox_http_head_SOURCES = tests/fuzz/sandbox_http_head.c tests/fuzz/cut.h tests/fuzz/replay.c
replay_sandbox_http_head_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_http_head"'
replay_sandbox_http_head_LDADD = $(SANDBOX_FUZZ_LIBS)
check_PROGRAMS += replay-sandbox_chunked
replay_sandbox_chunked_SOURCES = tests/fuzz/sandbox_chunked.c tests/fuzz/cut.h tests/fuzz/replay.c
replay_sandbox_chunked_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_chunked"'
replay_sandbox_chunked_LDADD = $(SANDBOX_FUZZ_LIBS)
check_PROGRAMS += replay-sandbox_unzip
replay_sandbox_unzip_SOURCES = tests/fuzz/sandbox_unzip.c tests/fuzz/replay.c
replay_sandbox_unzip_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_unzip"'
replay_sandbox_unzip_LDADD = $(SANDBOX_FUZZ_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-sandbox_http_head
fuzz_sandbox_http_head_SOURCES = tests/fuzz/sandbox_http_head.c tests/fuzz/cut.h
fuzz_sandbox_http_head_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_http_head_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_http_head_LDADD = $(SANDBOX_FUZZ_LIBS)
EXTRA_PROGRAMS += fuzz-sandbox_chunked
fuzz_sandbox_chunked_SOURCES = tests/fuzz/sandbox_chunked.c tests/fuzz/cut.h
fuzz_sandbox_chunked_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_chunked_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_chunked_LDADD = $(SANDBOX_FUZZ_LIBS)
EXTRA_PROGRAMS += fuzz-sandbox_unzip
fuzz_sandbox_unzip_SOURCES = tests/fuzz/sandbox_unzip.c
fuzz_sandbox_unzip_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_unzip_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_unzip_LDADD = $(SANDBOX_FUZZ_LIBS)
EXTRA_PROGRAMS += fuzz-sandbox_browser fuzz-sandbox_terminal fuzz-sandbox_multipart
fuzz_sandbox_browser_SOURCES = tests/fuzz/sandbox_browser.c
fuzz_sandbox_browser_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_browser_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_browser_LDADD = $(SANDBOX_FUZZ_LIBS)
fuzz_sandbox_terminal_SOURCES = tests/fuzz/sandbox_terminal.c
fuzz_sandbox_terminal_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_terminal_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_terminal_LDADD = $(SANDBOX_FUZZ_LIBS)
fuzz_sandbox_multipart_SOURCES = tests/fuzz/sandbox_multipart.c
fuzz_sandbox_multipart_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_multipart_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_multipart_LDADD = $(SANDBOX_FUZZ_LIBS)
endif
