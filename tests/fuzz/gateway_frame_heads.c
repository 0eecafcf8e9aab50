/*
 * What a client sends to the gateway: the head of the upgrade, then frames. Frames that are cut
 * into pieces are refused at the same byte.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "gateway/frame_heads.h"
#include "gateway/gateway.h"
#include "gateway/handshake.h"
#include "gateway/head.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    json_setup();
    return 0;
}

static void use_head(const char *head)
{
    const struct gateway gateway = {.app_url = "http://deft.test"};
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    struct handshake handshake = {.has_credential = false};
    struct error err = ERROR_INIT;

    if (handshake_read(&gateway, head, &handshake, &err) < 0)
        assert(err.code != ERROR_NONE);
    if (head_query(head, "a", &value))
        assert(value.len <= strlen(head));
    strbuf_truncate(&value, 0);
    if (head_header(head, "a", &value))
        assert(head_count(head, "a") > 0 && strpbrk(value.text, "\r\n") == NULL);
}

/* Where the first frame begins that is not masked; len without one. */
static size_t find_unmasked(const uint8_t *bytes, size_t len, size_t piece)
{
    struct frame_heads heads = {.n_skipped = 0};

    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        size_t n_fine = frame_heads_read(&heads, bytes + at, n);

        assert(n_fine <= n && heads.n_head <= FRAME_HEAD_MAX_BYTES);
        if (n_fine < n)
            return at + n_fine;
    }
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(mem_freep) char *head = mem_dup_bytes(bytes, len);

    use_head(head);
    assert(find_unmasked(bytes, len, len + 1) == find_unmasked(bytes, len, 1));
    return 0;
}
