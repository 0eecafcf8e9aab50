/*
 * The head of a Markdown file: any bytes give an object of strings, booleans and lists, and the
 * rest of the text, or are refused in words.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "json_setup.h"
#include "model/plugins/front_matter.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* A string without NUL, a boolean, or a list of these. */
static void check_value(const json_t *value)
{
    const json_t *item = NULL;
    size_t i = 0;

    if (json_is_string(value))
        assert(strlen(json_string_value(value)) == json_string_length(value));
    else if (!json_is_boolean(value))
        assert(json_is_array(value));
    json_array_foreach (value, i, item) {
        assert(!json_is_array(item));
        check_value(item);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const char *body = NULL;
    const char *key = NULL;
    json_auto_t *head = NULL;
    json_t *value = NULL;

    strbuf_append_bytes(&text, bytes, len);
    if (front_matter_read(text.text, &head, &body, &err) < 0) {
        assert(err.message[0] != '\0');
        return 0;
    }
    assert(json_is_object(head));
    json_object_foreach (head, key, value)
        check_value(value);
    assert(body >= text.text && body <= text.text + text.len);
    return 0;
}
