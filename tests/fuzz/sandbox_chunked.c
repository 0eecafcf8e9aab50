/*
 * Bodies in chunks: the same bytes give the same data, however they are cut (cut.h).
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec/chunked.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "cut.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* The data of one piece; every call uses up input or is the last. */
static int read_piece(struct chunked *chunked, struct chunked_input *input, struct strbuf *out)
{
    struct error err = ERROR_INIT;
    const char *data = NULL;
    size_t n = 1;

    while (n > 0) {
        const char *end = input->bytes + input->len;

        if (chunked_next(chunked, input, &data, &n, &err) < 0) {
            assert(err.code == ERROR_INVALID);
            return -1;
        }
        assert(input->bytes + input->len == end && (n == 0 || data + n <= end));
        strbuf_append_bytes(out, data, n);
    }
    assert(input->len == 0 || chunked->state == CHUNKED_OVER);
    return 0;
}

/* Bytes after the body are not consumed. */
static int read_body(const char *text, size_t len, size_t piece, struct strbuf *out)
{
    struct chunked chunked = {.state = CHUNKED_SIZE};

    for (size_t at = 0; at < len && chunked.state != CHUNKED_OVER; at += piece) {
        struct chunked_input input = {text + at, len - at < piece ? len - at : piece};

        if (read_piece(&chunked, &input, out) < 0)
            return -1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    fuzz_cut(bytes, len, read_body);
    return 0;
}
