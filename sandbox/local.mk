# sandbox: deft-action, one static binary
bin_PROGRAMS += deft-action

# All but main.c, shared with the unit tests.
SANDBOX_SOURCES = \
	sandbox/core/account.c sandbox/core/account.h \
	sandbox/actions/actions.c sandbox/actions/actions.h \
	sandbox/files/archive.c sandbox/files/archive.h \
	sandbox/bash/bash.c sandbox/bash/bash.h \
	sandbox/bash/bash_events.c sandbox/bash/bash_events.h \
	sandbox/bash/bash_waits.c sandbox/bash/bash_waits.h \
	sandbox/bash/bash_routes.c sandbox/bash/bash_routes.h \
	sandbox/browser/browser.c sandbox/browser/browser.h \
	sandbox/browser/chromium.c sandbox/browser/chromium.h \
	sandbox/browser/cdp.c sandbox/browser/cdp.h \
	sandbox/browser/cdp_message.c sandbox/browser/cdp_message.h \
	sandbox/browser/content.c sandbox/browser/content.h \
	sandbox/browser/downloads.c sandbox/browser/downloads.h \
	sandbox/browser/browser_spec.h \
	sandbox/browser/session.c sandbox/browser/session.h \
	sandbox/browser/serve.c sandbox/browser/serve.h \
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
	sandbox/terminal/capture.c sandbox/terminal/capture.h \
	sandbox/legacy/cell.c sandbox/legacy/cell.h sandbox/legacy/cell_driver.h \
	sandbox/http/chunked.c sandbox/http/chunked.h \
	sandbox/git/clone.c sandbox/git/clone.h \
	sandbox/files/collect.c sandbox/files/collect.h \
	sandbox/git/credential_config.c sandbox/git/credential_config.h \
	sandbox/git/credential_door.c sandbox/git/credential_door.h \
	sandbox/git/credential_helper.c sandbox/git/credential_helper.h \
	sandbox/git/credential_routes.c sandbox/git/credential_routes.h \
	sandbox/git/credentials.c sandbox/git/credentials.h \
	sandbox/core/action_config.c sandbox/core/action_config.h \
	sandbox/actions/conversation.c sandbox/actions/conversation.h \
	sandbox/ports/dialogue.c sandbox/ports/dialogue.h \
	sandbox/files/directories.c \
	sandbox/editor/editor.c sandbox/editor/editor.h \
	sandbox/editor/editor_result.h \
	sandbox/editor/editor_view.c \
	sandbox/core/errand.c sandbox/core/errand.h \
	sandbox/terminal/exports.c sandbox/terminal/exports.h \
	sandbox/legacy/execute.c sandbox/legacy/execute.h \
	sandbox/legacy/execute_files.c sandbox/legacy/execute_files.h \
	sandbox/legacy/execute_list.c sandbox/legacy/execute_list.h \
	sandbox/legacy/execute_reply.c sandbox/legacy/execute_reply.h \
	sandbox/legacy/execute_transfer.c sandbox/legacy/execute_transfer.h \
	sandbox/git/fetch.c sandbox/git/fetch.h \
	sandbox/git/fetch_copy.c sandbox/git/fetch_copy.h \
	sandbox/http/file_path.c sandbox/http/file_path.h \
	sandbox/files/files.c sandbox/files/files.h \
	sandbox/core/folder.c sandbox/core/folder.h \
	sandbox/git/git.c sandbox/git/git.h \
	sandbox/git/git_address.c sandbox/git/git_address.h \
	sandbox/git/git_diff.c sandbox/git/git_diff.h \
	sandbox/git/git_hooks.c sandbox/git/git_hooks.h \
	sandbox/git/git_routes.c sandbox/git/git_routes.h \
	sandbox/http/http.c sandbox/http/http.h \
	sandbox/http/http_connection.h \
	sandbox/http/http_reply.c \
	sandbox/core/identity.c sandbox/core/identity.h \
	sandbox/init.c sandbox/init.h \
	sandbox/http/inside.c sandbox/http/inside.h \
	sandbox/http/job.c sandbox/http/job.h \
	sandbox/actions/journal.c sandbox/actions/journal.h \
	sandbox/actions/journal_file.c sandbox/actions/journal_file.h \
	sandbox/terminal/keys.c sandbox/terminal/keys.h \
	sandbox/core/limits.h \
	sandbox/editor/line_diff.c sandbox/editor/line_diff.h \
	sandbox/http/listener.c sandbox/http/listener.h \
	sandbox/ports/preview_door.c sandbox/ports/preview_door.h \
	sandbox/core/tunnel.c sandbox/core/tunnel.h \
	sandbox/core/loop.c sandbox/core/loop.h \
	sandbox/core/memory_kills.c sandbox/core/memory_kills.h \
	sandbox/http/multipart.c sandbox/http/multipart.h \
	sandbox/core/observation.c sandbox/core/observation.h \
	sandbox/ports/ports.c sandbox/ports/ports.h \
	sandbox/http/prove.c sandbox/http/prove.h \
	sandbox/actions/prepare.c sandbox/actions/prepare.h \
	sandbox/core/process.c sandbox/core/process.h \
	sandbox/core/program.c sandbox/core/program.h \
	sandbox/core/replace.c sandbox/core/replace.h \
	sandbox/git/repository.c sandbox/git/repository.h \
	sandbox/http/route.c sandbox/http/route.h \
	sandbox/http/request.c sandbox/http/request.h \
	sandbox/routes.c sandbox/routes.h \
	sandbox/core/server.h \
	sandbox/terminal/shell.c sandbox/terminal/shell.h \
	sandbox/terminal/shell_record.c sandbox/terminal/shell_record.h \
	sandbox/terminal/shell_script.h \
	sandbox/files/shown.c sandbox/files/shown.h \
	sandbox/terminal/spill.c sandbox/terminal/spill.h \
	sandbox/terminal/statements.c sandbox/terminal/statements.h \
	sandbox/status.c sandbox/status.h \
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
SANDBOX_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(LWS_CFLAGS)
libsandbox_a_CPPFLAGS = $(SANDBOX_CPPFLAGS)
libsandbox_a_CFLAGS = $(AM_CFLAGS) $(DEFT_STATIC_CFLAGS)

deft_action_SOURCES = sandbox/main.c
if !SANITIZED
# Only where the link is static: a shared library would find these names before its own.
deft_action_SOURCES += sandbox/http/no_tls.c
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
	tests/unit/sandbox/core/account_test.c \
	tests/unit/sandbox/browser/browser_test.c \
	tests/unit/sandbox/terminal/capture_test.c \
	tests/unit/sandbox/http/chunked_test.c \
	tests/unit/sandbox/git/credentials_test.c \
	tests/unit/sandbox/editor/editor_test.c \
	tests/unit/sandbox/git/git_address_test.c \
	tests/unit/sandbox/core/identity_test.c \
	tests/unit/sandbox/ports/ports_test.c \
	tests/unit/sandbox/terminal/exports_test.c \
	tests/unit/sandbox/http/inside_test.c \
	tests/unit/sandbox/actions/journal_test.c \
	tests/unit/sandbox/terminal/keys_test.c \
	tests/unit/sandbox/http/multipart_test.c \
	tests/unit/sandbox/ports/preview_door_test.c \
	tests/unit/sandbox/git/repository_test.c \
	tests/unit/sandbox/sandbox_test.c \
	tests/unit/sandbox/sandbox_test.h \
	tests/unit/sandbox/terminal/shell_record_test.c \
	tests/unit/sandbox/terminal/statements_test.c \
	tests/unit/sandbox/terminal/terminal_text_test.c
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
