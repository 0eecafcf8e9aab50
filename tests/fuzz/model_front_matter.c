/*
 * The head of a Markdown file: any bytes give an object and a place in the text, or are refused in
 * words.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/plugins/front_matter.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    json_setup();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const char *body = NULL;
    json_auto_t *head = NULL;

    strbuf_append_bytes(&text, bytes, len);
    if (front_matter_read(text.text, &head, &body, &err) < 0) {
        assert(err.message[0] != '\0');
        return 0;
    }
    assert(json_is_object(head));
    assert(body >= text.text && body <= text.text + text.len);
    return 0;
}
