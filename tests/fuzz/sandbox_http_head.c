/*
 * Heads of requests: the same bytes are the same request, however they are cut (cut.h), and what
 * the reader passes on cannot break a limit or a line.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cut.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/http/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void describe(const struct http_head *head, struct strbuf *out)
{
    const char *coding = http_head_header(head, "Transfer-Encoding");
    const char *host = http_head_header(head, "host");

    assert(head->path.text[0] == '/' && strlen(head->path.text) == head->path.len);
    assert(strstr(head->path.text, "/../") == NULL && strstr(head->path.text, "//") == NULL);
    assert(head->headers.len <= MAX_HEADER_BYTES && strlen(head->query) <= MAX_HEADER_BYTES);
    assert(head->content_length >= -1 && (head->content_length < 0 || !head->is_chunked));
    assert((coding != NULL) == head->is_chunked);
    assert(host == NULL || strpbrk(host, "\r\n") == NULL);
    strbuf_appendf(out, "%d %s ? %s %lld %d %d %d %d ", (int)head->method, head->path.text,
                   head->query, (long long)head->content_length, head->is_chunked,
                   head->is_http_1_0, head->keeps_alive, head->wants_upgrade);
    strbuf_append_bytes(out, head->headers.text, head->headers.len);
}

static int read_head(const char *text, size_t len, size_t piece, struct strbuf *out)
{
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    struct error err = ERROR_INIT;

    for (size_t at = 0; at < len && !head.is_complete;) {
        size_t n = len - at < piece ? len - at : piece;
        size_t used = 0;

        if (http_head_read(&head, text + at, n, &used, &err) < 0) {
            assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
            return -1;
        }
        assert(used <= n && (used == n || head.is_complete));
        at += used;
        assert(head.n_bytes == at && at <= MAX_HEADER_BYTES);
    }
    if (head.is_complete)
        describe(&head, out);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    fuzz_cut(bytes, len, read_head);
    return 0;
}
