/*
 * The beginning of a preview's answer: one byte more never turns a judgement around, and an
 * informational head lies within the bytes.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "model/conversation/preview_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *text = (const char *)bytes;
    struct preview_answer whole = preview_answer_read(len > 0 ? text : "", len);

    assert(whole.n_head_bytes <= len);
    assert(whole.kind != PREVIEW_ANSWER_FINAL || (whole.status >= 200 && whole.status <= 599));
    for (size_t cut = 1; cut < len && cut < 64; cut++) {
        struct preview_answer part = preview_answer_read(text, cut);

        assert(part.kind == PREVIEW_ANSWER_PARTIAL || part.kind == whole.kind);
    }
    return 0;
}
