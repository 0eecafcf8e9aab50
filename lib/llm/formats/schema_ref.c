#include "llm/formats/schema_ref.h"

#include <stdint.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

/* Many places may have the same reference. */
enum { STEPS_MAX = 16, REF_MAX_BYTES = 256 };

/* Appends a token of a pointer with ~1 and ~0 decoded. */
static void append_token(struct strbuf *out, const char *token, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (token[i] == '~' && i + 1 < len && (token[i + 1] == '0' || token[i + 1] == '1'))
            strbuf_append_char(out, token[++i] == '0' ? '~' : '/');
        else
            strbuf_append_char(out, token[i]);
    }
}

static const json_t *member(const json_t *value, const char *token)
{
    struct error ignored = ERROR_INIT;
    int64_t index = 0;

    if (json_is_object(value))
        return json_object_get(value, token);
    if (text_parse_int(token, 0, INT32_MAX, &index, &ignored) < 0)
        return NULL;
    return json_array_get(value, (size_t)index);
}

/* pointer: "" or a sequence of "/token". */
static const json_t *find(const json_t *root, const char *pointer)
{
    const json_t *found = root;

    while (*pointer == '/' && found != NULL) {
        CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
        size_t len = strcspn(pointer + 1, "/");

        append_token(&token, pointer + 1, len);
        found = member(found, token.text);
        pointer += 1 + len;
    }
    return *pointer == '\0' ? found : NULL;
}

const json_t *schema_resolve(const json_t *root, const json_t *schema)
{
    for (int i = 0; i < STEPS_MAX && schema != NULL; i++) {
        CLEANUP(strbuf_done) struct strbuf pointer = STRBUF_INIT;
        const char *ref = json_text_or(schema, "$ref", NULL);

        if (ref == NULL)
            return schema;
        if (ref[0] != '#' || strlen(ref) > REF_MAX_BYTES)
            return NULL;
        percent_decode(&pointer, ref + 1, strlen(ref + 1), '+');
        schema = find(root, pointer.text);
    }
    return NULL;
}
