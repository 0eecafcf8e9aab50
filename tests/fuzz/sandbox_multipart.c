/*
 * A multipart body: however it is cut into pieces, the same bytes come out, or the same refusal.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/codec/multipart.h"
#include "base/error.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int collect(void *state, const char *bytes, size_t len, struct error *err)
{
    (void)err;
    strbuf_append_bytes(state, bytes, len);
    return 0;
}

static bool parse(const char *bytes, size_t size, size_t piece, struct strbuf *out)
{
    CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
    const struct multipart_target target = {.state = out, .take = collect};
    struct error err = ERROR_INIT;
    int rc = multipart_init(&multipart, "multipart/form-data; boundary=b", "file", &err);

    assert(rc == 0);
    for (size_t at = 0; at < size && rc == 0; at += piece)
        rc = multipart_feed(&multipart, bytes + at, size - at < piece ? size - at : piece, &target,
                            &err);
    return rc == 0 && multipart_is_complete(&multipart);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf pieces = STRBUF_INIT;
    bool complete = parse((const char *)data, size, size > 0 ? size : 1, &whole);

    assert(parse((const char *)data, size, 1, &pieces) == complete);
    if (complete)
        assert(whole.len == pieces.len && memcmp(whole.text, pieces.text, whole.len) == 0);
    return 0;
}
