/*
 * Parsers of deft-action: uploads, output of terminals, paths, addresses, archives.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/codec/chunked.h"
#include "base/codec/multipart.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/action_routes.h"
#include "sandbox/actions/journal_file.h"
#include "sandbox/browser/cdp.h"
#include "sandbox/browser/cdp_message.h"
#include "sandbox/browser/downloads.h"
#include "sandbox/browser/input.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/page_content.h"
#include "sandbox/browser/page_state.h"
#include "sandbox/core/account.h"
#include "sandbox/core/textfile.h"
#include "sandbox/editor/file_editor.h"
#include "sandbox/editor/patch.h"
#include "sandbox/files/unzip.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/git_address.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/http_head.h"
#include "sandbox/http/http_route.h"
#include "sandbox/http/path_scope.h"
#include "sandbox/http/server_request.h"
#include "sandbox/ports/ports.h"
#include "sandbox/search/glob_pattern.h"
#include "sandbox/search/grep_pattern.h"
#include "sandbox/terminal/shell.h"
#include "sandbox/terminal/shell_record.h"
#include "sandbox/terminal/shell_split.h"
#include "sandbox/terminal/terminal_filter.h"
#include "sandbox/terminal/terminal_keys.h"
#include "unit/linear/linear.h"

/* The size of one read of a connection. */
enum { PIECE_BYTES = 65536 };

static int drop(void *state, const char *bytes, size_t len, struct error *err)
{
    (void)state;
    (void)bytes;
    (void)len;
    (void)err;
    return 0;
}

static void feed_multipart(const char *text, size_t len, size_t piece)
{
    CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
    const struct multipart_target target = {.take = drop};
    struct error err = ERROR_INIT;
    int rc = multipart_init(&multipart, "multipart/form-data; boundary=b", "file", &err);

    for (size_t at = 0; at < len && rc == 0; at += piece)
        rc = multipart_feed(&multipart, text + at, len - at < piece ? len - at : piece, &target,
                            &err);
    (void)!multipart_is_complete(&multipart);
}

static void run_multipart(const char *text, size_t len)
{
    feed_multipart(text, len, len);
    feed_multipart(text, len, PIECE_BYTES);
}

static void run_multipart_bytes(const char *text, size_t len)
{
    feed_multipart(text, len, 1);
}

static const char *const forms[] = {
    "|--b\r\n\r\n\r\n|--b--",
    "--b\r\n|a: b\r\n|\r\n\r\n\r\n--b--",
    "|\r\n--|",
    "|\r\n--a|",
    "--b\r\n\r\n|a|\r\n--b--",
    "|\r\n|",
    "|--b|",
    "--b\r\nContent-Disposition: form-data; |xname=|\r\n\r\na\r\n--b--",
    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=|'|\r\n\r\na\r\n--b--",
    "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n|\r|\r\n--b--",
    NULL};

static void feed_capture(const char *text, size_t len, size_t piece)
{
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    bool marked = false;

    terminal_filter_init(&filter);
    terminal_filter_set_marker(&filter, "7770;n;1");
    for (size_t at = 0; at < len;)
        at +=
            terminal_filter_feed(&filter, text + at, len - at < piece ? len - at : piece, &marked);
    terminal_filter_take(&filter, &out);
}

static void run_filter(const char *text, size_t len)
{
    feed_capture(text, len, PIECE_BYTES);
    feed_capture(text, len, 1);
}

static const char *const outputs[] = {"|a|",        "|\n|",
                                      "|\ra|",      "|\r\n|",
                                      "|\x1b[|",    "|\x1b[0m|",
                                      "|\x1b]|",    "|\x1b]0;a\x07|",
                                      "|a\x08|",    "|\xff|",
                                      "|\xc3\xa9|", "|\xc3\xa9\r|",
                                      "\x1b]|a|",   "|\x1b]7770;n;1\x07|",
                                      "|abc\rd\r|", "|\x1b[1m\ra|",
                                      NULL};

/* A long line, and what a program writes over it again and again. */
static void run_overwritten(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;

    for (int i = 0; i < 30000; i++)
        strbuf_append_char(&shown, 'a');
    strbuf_append_bytes(&shown, text, len);
    feed_capture(shown.text, shown.len, PIECE_BYTES);
}

static const char *const overwriting[] = {"|\rb|", "|\r\xc3\xa9|", "|\rb\r\xc3\xa9|",
                                          "|\r|",  "|\r\x1b[1mb|", NULL};

static void run_chunked(const char *text, size_t len)
{
    struct chunked chunked = {.state = CHUNKED_SIZE};
    struct chunked_input input = {text, len};
    const char *data = NULL;
    size_t n = 1;
    struct error err = ERROR_INIT;

    while (n > 0 && chunked_next(&chunked, &input, &data, &n, &err) == 0) {
    }
}

static const char *const chunks[] = {
    "|1\r\na\r\n|0\r\n\r\n", "1;|a|\r\n", "0\r\n|a: b\r\n|\r\n", "|0|1\r\n", "|\n|", NULL};

static void run_path(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)len;
    if (path_scope_resolve(text, &out, &err) < 0)
        assert_int_equal(out.len, 0);
}

static const char *const paths[] = {"|/|", "|/.|", "|/..|", "/|a|", "|/a|", "|/a/..|", NULL};

static void run_git_address(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)len;
    if (!git_address_is_remote(text) && !git_address_is_ref(text) &&
        !git_address_origin(text, &out) && git_address_name(text, &out, &err) < 0)
        assert_int_equal(out.len, 0);
}

static const char *const addresses[] = {"https://|a|",  "https://|a/|", "https://a/|/|",
                                        "https://|a@|", "git@a:|a|",    "|@|",
                                        "|:|",          "https://a|?|", NULL};

static void run_record(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
    struct shell_record record = {0};

    strbuf_append_bytes(&bytes, text, len);
    while (shell_record_next(&bytes, "k", &kept, &record)) {
    }
}

/* A file in memory with these bytes. */
static int open_bytes(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    int fd = memfd_create("linear", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, len, &err), 0);
    return fd;
}

static void run_unzip(const char *text, size_t len)
{
    CLEANUP(fd_close) int fd = open_bytes(text, len);
    struct error err = ERROR_INIT;

    assert_int_equal(unzip_into(fd, "/nowhere", &err), -1);
}

static const char *const archives[] = {"|PK\x05\x06|", "|PK\x01\x02|", "|P|",
                                       "|PK\x05|",     "|PK\x06\x07|", NULL};

static void run_textfile(const char *text, size_t len)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = open_bytes(text, len);
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "/proc/self/fd/%d", fd);
    if (textfile_read(path.text, &file, &err) < 0)
        assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

/* --- the browser, files, programs --- */

static void run_browser(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
    json_auto_t *json = NULL;
    json_auto_t *noted = json_object();
    struct error err = ERROR_INIT;

    cdp_append_repaired(&out, text, len);
    if (cdp_parse(text, len, &json, &err) == 0)
        (void)!page_state_append(&out, noted, json);
    strbuf_append_bytes(&page, text, len);
    if (page_content_append_window(&out, "u", &page, 0, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
    downloads_append_name(&out, text);
    (void)!input_shown_text(text);
    if (navigate_read_url(text, &out, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
}

static const char *const messages[] = {"{\"a\":\"|\\ud800|\"}",
                                       "{\"a\":\"|\\u0000|\"}",
                                       "[|{\"text\":\"a\",\"depth\":1},|1]",
                                       "|../|",
                                       "https://|a|",
                                       "|a.|",
                                       NULL};

static void forget_event(void *owner, const char *method, const char *session, const json_t *params)
{
    (void)owner;
    (void)method;
    (void)session;
    (void)params;
}

static const char *end_messages(char *stream, size_t len)
{
    for (size_t i = 0; i < len; i++)
        stream[i] = (char)(stream[i] == '\1' ? '\0' : stream[i]);
    return stream;
}

/* "\1" marks the end of a message. */
static const char *const cdp_streams[] = {"|{\"method\":\"a\"}\1|", "|{\"id\":1}\1|",
                                          "{\"method\":\"|a|\"}\1", "|\1|", NULL};

/* Input that arrives over a pipe and is read in pieces. */
static void run_cdp(const char *text, size_t len)
{
    CLEANUP(mem_freep) char *stream = mem_dup_bytes(text, len);
    CLEANUP(fd_close) int from = open_bytes(end_messages(stream, len), len);
    CLEANUP(fd_close) int to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const struct cdp_ends ends = {to, from, -1};
    const struct cdp_listener listener = {NULL, forget_event};
    struct cdp *cdp = cdp_new(&ends, &listener);
    struct error err = ERROR_INIT;

    assert_true(from >= 0 && lseek(from, 0, SEEK_SET) == 0);
    while (cdp_listen(cdp, INT64_MAX, &err) == 0) {
    }
    cdp_free(cdp);
}

static void run_tables(const char *text, size_t len)
{
    char *listens = mem_alloc_array(PORTS_MAX, sizeof(*listens));
    struct account account = {.name = STRBUF_INIT, .home = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *record = NULL;
    struct error err = ERROR_INIT;

    ports_read(text, listens);
    mem_free(listens);
    account_find(text, 4711, &account);
    account_done(&account);
    if (journal_line_parse(text, len, &record, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
    file_name_append_disposition(text, &out);
    (void)!terminal_key_bytes(text);
    (void)!terminal_key_control_letter(text);
}

static const char *const tables[] = {"|a:x:1:1::/:/bin/sh\n|", "|:|", "| 0: 00000000:1F90 0 0A\n|",
                                     "|C-|", NULL};

static void run_credentials(const char *text, size_t len)
{
    struct credentials *credentials = credentials_new();
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;
    char origin[40] = "";

    for (int i = 0; i < 8; i++) {
        (void)snprintf(origin, sizeof(origin), "https://a%d", i);
        assert_int_equal(credentials_keep(credentials,
                                          &(struct credential_order){origin, "", "swordfish", 1000},
                                          &err),
                         0);
    }
    credentials_mask_append(credentials, text, len, &out);
    credentials_free(credentials);
}

static const char *const printed[] = {"|swordfish|", "|swordfis|", "|a|", NULL};

static void edit(struct file_editor *editor, const char *const *names, const char *const *values)
{
    json_auto_t *args = json_object();
    json_t *observation = NULL;

    for (size_t i = 0; names[i] != NULL; i++)
        json_put_text(args, names[i], values[i]);
    observation = file_editor_execute(editor, args, "/dev/shm");
    assert_non_null(observation);
    json_decref(observation);
}

/* Made, replaced where the text is once or often, shown, put back. */
static void run_editor(const char *text, size_t len)
{
    static const char *const all[] = {"path", "command", "file_text", "old_str", "new_str", NULL};
    struct file_editor *editor = file_editor_new();
    char path[] = "/dev/shm/deft-linear-XXXXXX";
    CLEANUP(fd_close) int fd = mkstemp(path);
    CLEANUP(strbuf_done) struct strbuf half = STRBUF_INIT;

    assert_true(fd >= 0);
    (void)unlink(path);
    strbuf_append_bytes(&half, text, len / 2);
    edit(editor, all, (const char *const[]){path, "create", text, NULL, NULL});
    edit(editor, all, (const char *const[]){path, "str_replace", NULL, text, half.text});
    edit(editor, all, (const char *const[]){path, "str_replace", NULL, half.text, text});
    edit(editor, all, (const char *const[]){path, "str_replace", NULL, "a", "b"});
    edit(editor, all, (const char *const[]){path, "view", NULL, NULL, NULL});
    edit(editor, all, (const char *const[]){path, "undo_edit", NULL, NULL, NULL});
    (void)unlink(path);
    file_editor_free(editor);
}

static void run_patch(const char *text, size_t len)
{
    CLEANUP(patch_done) struct file_patch patch = PATCH_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;
    int fuzz = 0;

    (void)len;
    if (patch_read(&patch, text, &err) < 0)
        return;
    error_ignore(patch_apply(&patch.files[0], "a\nb\n", &out, &fuzz, &err), "only its time counts");
}

static const char *const patches[] = {
    "*** Begin Patch\n*** Add File: f\n|+a\n|*** End Patch\n",
    "*** Begin Patch\n*** Update File: f\n@@\n|+a\n|*** End Patch\n",
    "*** Begin Patch\n*** Update File: f\n@@\n|-a\n|*** End Patch\n", NULL};

static void run_grep(const char *text, size_t len)
{
    CLEANUP(grep_pattern_done) struct grep_pattern pattern = {.is_set = false};
    struct error err = ERROR_INIT;

    if (grep_pattern_read(&pattern, "a+b*c[^x]d|\\bend$", &err) < 0)
        abort();
    (void)!grep_pattern_finds(&pattern, text, len);
}

static void run_patterns(const char *text, size_t len)
{
    CLEANUP(grep_pattern_done) struct grep_pattern lines = {.is_set = false};
    CLEANUP(glob_pattern_done) struct glob_pattern names = GLOB_PATTERN_INIT;
    struct error err = ERROR_INIT;

    (void)len;
    error_ignore(grep_pattern_read(&lines, text, &err), "only its time counts");
    if (glob_pattern_read(&names, text, &err) == 0)
        (void)!glob_pattern_matches(&names, "a/b/c");
}

static void run_routes(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    char *param = NULL;
    struct shell_statement statements[SHELL_STATEMENTS_MAX];

    (void)len;
    (void)!http_route_find(&action_routes, METHOD_GET, text, &param, &err);
    mem_free(param);
    (void)!shell_split(text, statements);
}

/* In pieces, and byte by byte. */
static void run_head(const char *text, size_t len)
{
    CLEANUP(http_head_done) struct http_head whole = HTTP_HEAD_INIT;
    CLEANUP(http_head_done) struct http_head cut = HTTP_HEAD_INIT;
    struct error err = ERROR_INIT;
    size_t used = 1;

    if (http_head_read(&whole, text, len, &used, &err) == 0 && whole.is_complete)
        (void)!http_head_header(&whole, "x");
    for (size_t at = 0; at < len && !cut.is_complete; at++) {
        if (http_head_read(&cut, text + at, 1, &used, &err) < 0)
            return;
    }
}

static const char *const heads[] = {
    "GET /|a/| HTTP/1.1\r\n\r\n",      "GET /|../| HTTP/1.1\r\n\r\n",
    "GET /?|a=%41&| HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n|A: b \r\n|\r\n",
    "GET / HTTP/1.1\r\nA:| \r\n|\r\n", NULL};

static void time_is_linear_in_what_a_sandbox_reads(void **state)
{
    static const struct linear_function functions[] = {
        {"multipart_feed", run_multipart, forms, 0, 0},
        {"multipart_feed, byte by byte", run_multipart_bytes, forms, LINEAR_FEW_BYTES, 0},
        {"multipart_feed", run_multipart, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"terminal_filter_feed", run_filter, outputs, 0, 0},
        {"terminal_filter_feed", run_filter, linear_any_text, 0, 0},
        {"terminal_filter_feed over a long line", run_overwritten, overwriting, 0, 0},
        {"http_head_read", run_head, heads, LINEAR_FEW_BYTES, 0},
        {"http_head_read", run_head, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"chunked_next", run_chunked, chunks, 0, 0},
        {"chunked_next", run_chunked, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"path_scope_resolve", run_path, paths, LINEAR_FEW_BYTES, 0},
        {"git_address_is_remote", run_git_address, addresses, LINEAR_FEW_BYTES, 0},
        {"git_address_is_remote", run_git_address, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"shell_record_next", run_record, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"unzip_into", run_unzip, archives, LINEAR_FEW_BYTES, 0},
        {"unzip_into", run_unzip, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"cdp_parse, page_state_append", run_browser, messages, LINEAR_FEW_BYTES, 0},
        {"cdp_parse, page_state_append", run_browser, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"cdp_listen", run_cdp, cdp_streams, LINEAR_FEW_BYTES, 0},
        {"cdp_listen", run_cdp, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"ports_read, account_find", run_tables, tables, LINEAR_FEW_BYTES, 0},
        {"ports_read, account_find", run_tables, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"credentials_mask_append", run_credentials, printed, LINEAR_FEW_BYTES, 0},
        {"credentials_mask_append", run_credentials, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"patch_read", run_patch, patches, LINEAR_FEW_BYTES, 0},
        {"patch_read", run_patch, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"grep_pattern_finds", run_grep, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"grep_pattern_read, glob_pattern_read", run_patterns, linear_any_text, 100, 0},
        {"file_editor_execute", run_editor, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"http_route_find", run_routes, paths, LINEAR_FEW_BYTES, 0},
        {"textfile_read", run_textfile, linear_any_text, LINEAR_FEW_BYTES, 0},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_what_a_sandbox_reads),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_sandbox", tests, NULL, NULL);
}
