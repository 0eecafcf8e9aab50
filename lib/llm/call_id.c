#include "llm/call_id.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

#define MARK "__thought__"
#define SIGNATURE_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="

size_t call_id_bare_len(const char *id)
{
    const char *mark = strstr(id, MARK);

    return mark != NULL ? (size_t)(mark - id) : strlen(id);
}

json_t *call_id_bare(const char *id)
{
    return json_text(id, call_id_bare_len(id));
}

const char *call_id_signature(const char *id)
{
    const char *mark = strstr(id, MARK);

    return mark != NULL ? mark + strlen(MARK) : NULL;
}

static bool is_signature(const char *text)
{
    size_t len = strspn(text, SIGNATURE_BYTES);

    return len > 0 && len <= CALL_SIGNATURE_MAX_BYTES && text[len] == '\0';
}

bool call_id_is_kept(const char *id)
{
    const char *signature = call_id_signature(id);
    size_t len = call_id_bare_len(id);

    return len > 0 && len <= CALL_ID_MAX_BYTES && (signature == NULL || is_signature(signature));
}

bool call_signature_is_valid(const struct strbuf *signature)
{
    return is_signature(signature->text);
}

void call_id_add_signature(struct strbuf *id, const struct strbuf *signature)
{
    if (!call_signature_is_valid(signature) || call_id_signature(id->text) != NULL)
        return;
    strbuf_append(id, MARK);
    strbuf_append_bytes(id, signature->text, signature->len);
}

static bool has_signature(const json_t *object, const char *key)
{
    return call_id_signature(json_text_or(object, key, "")) != NULL;
}

static json_t *calls_without_signatures(const json_t *calls)
{
    json_t *own = json_array();
    json_t *call = NULL;
    size_t i = 0;

    json_array_foreach (calls, i, call) {
        json_t *copy = json_copy(call);

        json_put(copy, "id", call_id_bare(json_text_or(call, "id", "")));
        json_push(own, copy);
    }
    return own;
}

json_t *call_ids_without_signatures(json_t *message)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    json_t *copy = NULL;
    const json_t *call = NULL;
    bool is_found = has_signature(message, "tool_call_id");
    size_t i = 0;

    json_array_foreach (calls, i, call)
        is_found = is_found || has_signature(call, "id");
    if (!is_found)
        return NULL;
    copy = json_copy(message);
    if (json_object_get(message, "tool_call_id") != NULL)
        json_put(copy, "tool_call_id", call_id_bare(json_text_or(message, "tool_call_id", "")));
    if (json_is_array(calls))
        json_put(copy, "tool_calls", calls_without_signatures(calls));
    return copy;
}
