/*
 * Bytes that a terminal prints: however they are cut into pieces, the text is the same, valid, and
 * within its cap. The same bytes as a command: its statements lie inside it.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/terminal/shell_split.h"
#include "sandbox/terminal/terminal_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void filter_in_pieces(const char *bytes, size_t size, size_t piece, struct strbuf *out)
{
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};
    bool marked = false;

    terminal_filter_init(&filter);
    terminal_filter_set_marker(&filter, "7770;n;1");
    for (size_t at = 0; at < size;) {
        size_t len = size - at < piece ? size - at : piece;

        at += terminal_filter_feed(&filter, bytes + at, len, &marked);
    }
    terminal_filter_take(&filter, out);
}

static void check_capture(const char *bytes, size_t size)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf pieces = STRBUF_INIT;

    filter_in_pieces(bytes, size, size > 0 ? size : 1, &whole);
    filter_in_pieces(bytes, size, 3, &pieces);
    assert(whole.len == pieces.len && memcmp(whole.text, pieces.text, whole.len) == 0);
    assert(utf8_is_valid(whole.text, whole.len));
    assert(utf8_length(whole.text, whole.len) <= MAX_OUTPUT_CHARS);
}

static void check_statements(const char *command)
{
    struct shell_statement statements[SHELL_STATEMENTS_MAX];
    size_t n = shell_split(command, statements);
    const char *end = command;

    assert(n <= SHELL_STATEMENTS_MAX);
    for (size_t i = 0; i < n; i++) {
        assert(statements[i].text >= end);
        end = statements[i].text + statements[i].len;
        assert(end <= command + strlen(command));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(mem_freep) char *text = mem_dup_bytes(data, size);

    check_capture(text, size);
    check_statements(text);
    return 0;
}
