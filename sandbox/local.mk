# sandbox: deft-action, one static binary
bin_PROGRAMS += deft-action

# All but main.c, shared with the unit tests.
SANDBOX_SOURCES = \
	sandbox/account.c sandbox/account.h \
	sandbox/actions.c sandbox/actions.h \
	sandbox/archive.c sandbox/archive.h \
	sandbox/bash.c sandbox/bash.h \
	sandbox/bash_events.c sandbox/bash_events.h \
	sandbox/bash_waits.c sandbox/bash_waits.h \
	sandbox/bash_routes.c sandbox/bash_routes.h \
	sandbox/browser/browser.c sandbox/browser/browser.h \
	sandbox/browser/chromium.c sandbox/browser/chromium.h \
	sandbox/browser/cdp.c sandbox/browser/cdp.h \
	sandbox/browser/cdp_message.c sandbox/browser/cdp_message.h \
	sandbox/browser/content.c sandbox/browser/content.h \
	sandbox/browser/downloads.c sandbox/browser/downloads.h \
	sandbox/browser/driver.c sandbox/browser/driver.h \
	sandbox/browser/frames.c sandbox/browser/frames.h \
	sandbox/browser/input.c sandbox/browser/input.h \
	sandbox/browser/navigate.c sandbox/browser/navigate.h \
	sandbox/browser/recovery.c sandbox/browser/recovery.h \
	sandbox/browser/screenshot.c sandbox/browser/screenshot.h \
	sandbox/browser/state.c sandbox/browser/state.h \
	sandbox/browser/storage.c sandbox/browser/storage.h \
	sandbox/browser/tabs.c sandbox/browser/tabs.h \
	sandbox/browser/tools.c sandbox/browser/tools.h \
	sandbox/browser/script.h \
	sandbox/capture.c sandbox/capture.h \
	sandbox/cell.c sandbox/cell.h sandbox/cell_driver.h \
	sandbox/chunked.c sandbox/chunked.h \
	sandbox/clone.c sandbox/clone.h \
	sandbox/collect.c sandbox/collect.h \
	sandbox/credential_config.c sandbox/credential_config.h \
	sandbox/credential_door.c sandbox/credential_door.h \
	sandbox/credential_helper.c sandbox/credential_helper.h \
	sandbox/credential_routes.c sandbox/credential_routes.h \
	sandbox/credentials.c sandbox/credentials.h \
	sandbox/action_config.c sandbox/action_config.h \
	sandbox/conversation.c sandbox/conversation.h \
	sandbox/dialogue.c sandbox/dialogue.h \
	sandbox/directories.c \
	sandbox/editor.c sandbox/editor.h \
	sandbox/editor_result.h \
	sandbox/editor_view.c \
	sandbox/errand.c sandbox/errand.h \
	sandbox/exports.c sandbox/exports.h \
	sandbox/execute.c sandbox/execute.h \
	sandbox/execute_files.c sandbox/execute_files.h \
	sandbox/execute_list.c sandbox/execute_list.h \
	sandbox/execute_reply.c sandbox/execute_reply.h \
	sandbox/execute_transfer.c sandbox/execute_transfer.h \
	sandbox/fetch.c sandbox/fetch.h \
	sandbox/fetch_copy.c sandbox/fetch_copy.h \
	sandbox/file_path.c sandbox/file_path.h \
	sandbox/files.c sandbox/files.h \
	sandbox/folder.c sandbox/folder.h \
	sandbox/git.c sandbox/git.h \
	sandbox/git_address.c sandbox/git_address.h \
	sandbox/git_diff.c sandbox/git_diff.h \
	sandbox/git_hooks.c sandbox/git_hooks.h \
	sandbox/git_routes.c sandbox/git_routes.h \
	sandbox/http.c sandbox/http.h \
	sandbox/http_connection.h \
	sandbox/http_reply.c \
	sandbox/identity.c sandbox/identity.h \
	sandbox/init.c sandbox/init.h \
	sandbox/inside.c sandbox/inside.h \
	sandbox/job.c sandbox/job.h \
	sandbox/journal.c sandbox/journal.h \
	sandbox/journal_file.c sandbox/journal_file.h \
	sandbox/keys.c sandbox/keys.h \
	sandbox/limits.h \
	sandbox/line_diff.c sandbox/line_diff.h \
	sandbox/listener.c sandbox/listener.h \
	sandbox/preview_door.c sandbox/preview_door.h \
	sandbox/tunnel.c sandbox/tunnel.h \
	sandbox/loop.c sandbox/loop.h \
	sandbox/memory_kills.c sandbox/memory_kills.h \
	sandbox/multipart.c sandbox/multipart.h \
	sandbox/observation.c sandbox/observation.h \
	sandbox/ports.c sandbox/ports.h \
	sandbox/prove.c sandbox/prove.h \
	sandbox/prepare.c sandbox/prepare.h \
	sandbox/process.c sandbox/process.h \
	sandbox/program.c sandbox/program.h \
	sandbox/replace.c sandbox/replace.h \
	sandbox/repository.c sandbox/repository.h \
	sandbox/request.c \
	sandbox/routes.c sandbox/routes.h \
	sandbox/server.h \
	sandbox/shell.c sandbox/shell.h \
	sandbox/shell_record.c sandbox/shell_record.h \
	sandbox/shell_script.h \
	sandbox/shown.c sandbox/shown.h \
	sandbox/spill.c sandbox/spill.h \
	sandbox/statements.c sandbox/statements.h \
	sandbox/status.c sandbox/status.h \
	sandbox/vscode.c sandbox/vscode.h \
	sandbox/terminal.c sandbox/terminal.h \
	sandbox/background_wait.c sandbox/background_wait.h \
	sandbox/terminal_report.c sandbox/terminal_report.h \
	sandbox/terminal_text.c sandbox/terminal_text.h \
	sandbox/textfile.c sandbox/textfile.h \
	sandbox/unzip.c sandbox/unzip.h \
	sandbox/validation.c sandbox/validation.h

noinst_LIBRARIES += libsandbox.a
libsandbox_a_SOURCES = $(SANDBOX_SOURCES)
SANDBOX_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(LWS_CFLAGS)
libsandbox_a_CPPFLAGS = $(SANDBOX_CPPFLAGS)
libsandbox_a_CFLAGS = $(AM_CFLAGS) $(DEFT_STATIC_CFLAGS)

deft_action_SOURCES = sandbox/main.c
if !SANITIZED
# Only where the link is static: a shared library would find these names before its own.
deft_action_SOURCES += sandbox/no_tls.c
endif
deft_action_CPPFLAGS = $(SANDBOX_CPPFLAGS)
deft_action_CFLAGS = $(AM_CFLAGS) $(DEFT_STATIC_CFLAGS)
if SANITIZED
deft_action_LDFLAGS = $(AM_LDFLAGS)
SANDBOX_LWS_LIBS = $(LWS_LIBS) $(CRYPTO_LIBS)
else
# libwebsockets' own pkg-config file does not name what a static link needs.
deft_action_LDFLAGS = $(DEFT_STATIC_LDFLAGS) -Wl,--gc-sections
SANDBOX_LWS_LIBS = -lwebsockets -lcap $(CRYPTO_STATIC_LIBS)
endif
deft_action_LDADD = libsandbox.a libmodel.a libbase.a $(JANSSON_LIBS) $(SANDBOX_LWS_LIBS) $(ZLIB_LIBS) -lm

check_PROGRAMS += sandbox-test
sandbox_test_SOURCES = \
	tests/unit/sandbox/account_test.c \
	tests/unit/sandbox/browser_test.c \
	tests/unit/sandbox/capture_test.c \
	tests/unit/sandbox/chunked_test.c \
	tests/unit/sandbox/credentials_test.c \
	tests/unit/sandbox/editor_test.c \
	tests/unit/sandbox/git_address_test.c \
	tests/unit/sandbox/identity_test.c \
	tests/unit/sandbox/ports_test.c \
	tests/unit/sandbox/exports_test.c \
	tests/unit/sandbox/inside_test.c \
	tests/unit/sandbox/journal_test.c \
	tests/unit/sandbox/keys_test.c \
	tests/unit/sandbox/multipart_test.c \
	tests/unit/sandbox/preview_door_test.c \
	tests/unit/sandbox/repository_test.c \
	tests/unit/sandbox/sandbox_test.c \
	tests/unit/sandbox/sandbox_test.h \
	tests/unit/sandbox/shell_record_test.c \
	tests/unit/sandbox/statements_test.c \
	tests/unit/sandbox/terminal_text_test.c
sandbox_test_CPPFLAGS = $(SANDBOX_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
sandbox_test_LDADD = libsandbox.a libmodel.a libbase.a $(LWS_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS) $(ZLIB_LIBS) -lm

check_PROGRAMS += replay-sandbox_browser replay-sandbox_terminal replay-sandbox_upload
SANDBOX_FUZZ_LIBS = libsandbox.a libmodel.a libbase.a $(JANSSON_LIBS) $(CRYPTO_LIBS) -lm
replay_sandbox_browser_SOURCES = tests/fuzz/sandbox_browser.c tests/fuzz/replay.c
replay_sandbox_browser_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_browser"'
replay_sandbox_browser_LDADD = $(SANDBOX_FUZZ_LIBS)
replay_sandbox_terminal_SOURCES = tests/fuzz/sandbox_terminal.c tests/fuzz/replay.c
replay_sandbox_terminal_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_terminal"'
replay_sandbox_terminal_LDADD = $(SANDBOX_FUZZ_LIBS)
replay_sandbox_upload_SOURCES = tests/fuzz/sandbox_upload.c tests/fuzz/replay.c
replay_sandbox_upload_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_upload"'
replay_sandbox_upload_LDADD = $(SANDBOX_FUZZ_LIBS)
check_PROGRAMS += replay-sandbox_chunked
replay_sandbox_chunked_SOURCES = tests/fuzz/sandbox_chunked.c tests/fuzz/cut.h tests/fuzz/replay.c
replay_sandbox_chunked_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_chunked"'
replay_sandbox_chunked_LDADD = $(SANDBOX_FUZZ_LIBS)
check_PROGRAMS += replay-sandbox_unzip
replay_sandbox_unzip_SOURCES = tests/fuzz/sandbox_unzip.c tests/fuzz/replay.c
replay_sandbox_unzip_CPPFLAGS = $(SANDBOX_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/sandbox_unzip"'
replay_sandbox_unzip_LDADD = $(SANDBOX_FUZZ_LIBS) $(LWS_LIBS) $(ZLIB_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-sandbox_chunked
fuzz_sandbox_chunked_SOURCES = tests/fuzz/sandbox_chunked.c tests/fuzz/cut.h
fuzz_sandbox_chunked_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_chunked_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_chunked_LDADD = $(SANDBOX_FUZZ_LIBS)
EXTRA_PROGRAMS += fuzz-sandbox_unzip
fuzz_sandbox_unzip_SOURCES = tests/fuzz/sandbox_unzip.c
fuzz_sandbox_unzip_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_unzip_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_unzip_LDADD = $(SANDBOX_FUZZ_LIBS) $(LWS_LIBS) $(ZLIB_LIBS)
EXTRA_PROGRAMS += fuzz-sandbox_browser fuzz-sandbox_terminal fuzz-sandbox_upload
fuzz_sandbox_browser_SOURCES = tests/fuzz/sandbox_browser.c
fuzz_sandbox_browser_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_browser_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_browser_LDADD = $(SANDBOX_FUZZ_LIBS)
fuzz_sandbox_terminal_SOURCES = tests/fuzz/sandbox_terminal.c
fuzz_sandbox_terminal_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_terminal_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_terminal_LDADD = $(SANDBOX_FUZZ_LIBS)
fuzz_sandbox_upload_SOURCES = tests/fuzz/sandbox_upload.c
fuzz_sandbox_upload_CPPFLAGS = $(SANDBOX_CPPFLAGS)
fuzz_sandbox_upload_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_sandbox_upload_LDADD = $(SANDBOX_FUZZ_LIBS)
endif
