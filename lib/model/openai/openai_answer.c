#include "model/openai/openai_answer.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "model/openai/openai_request.h"

struct openai_usage openai_usage_of(const json_t *stats)
{
    struct openai_usage usage = {.input_tokens = 0};
    const char *usage_id = NULL;
    json_t *metrics = NULL;

    json_object_foreach (json_object_get(stats, "usage_to_metrics"), usage_id, metrics) {
        const json_t *sum = json_object_get(metrics, "accumulated_token_usage");

        usage.input_tokens += json_int_or(sum, "prompt_tokens", 0);
        usage.cached_tokens += json_int_or(sum, "cache_read_tokens", 0);
        usage.output_tokens += json_int_or(sum, "completion_tokens", 0);
        usage.reasoning_tokens += json_int_or(sum, "reasoning_tokens", 0);
    }
    return usage;
}

struct openai_usage openai_usage_since(const struct openai_usage *now,
                                       const struct openai_usage *before)
{
    return (struct openai_usage){
        .input_tokens = now->input_tokens - before->input_tokens,
        .cached_tokens = now->cached_tokens - before->cached_tokens,
        .output_tokens = now->output_tokens - before->output_tokens,
        .reasoning_tokens = now->reasoning_tokens - before->reasoning_tokens,
    };
}

static void put_count(json_t *object, const char *key, int64_t n)
{
    json_put(object, key, json_integer((json_int_t)n));
}

/* {"cached_tokens": 5} and the like. */
static json_t *detail_of(const char *key, int64_t n)
{
    json_t *detail = json_object();

    put_count(detail, key, n);
    return detail;
}

void openai_append_id(const char *prefix, struct strbuf *out)
{
    const struct uuid id = uuid_random();
    char hex[UUID_HEX_BYTES];

    uuid_to_hex(&id, hex);
    strbuf_appendf(out, "%s%s", prefix, hex);
}

/* id: NULL for a new one with that prefix. */
static void put_id(json_t *object, const char *id, const char *prefix)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (id != NULL)
        strbuf_append(&text, id);
    else
        openai_append_id(prefix, &text);
    json_put_text(object, "id", text.text);
}

json_t *openai_model(const char *profile)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    json_t *model = json_object();

    strbuf_appendf(&id, "%s%s", OPENAI_MODEL_PREFIX, profile);
    json_put_text(model, "id", id.text);
    json_put_text(model, "object", "model");
    put_count(model, "created", 0);
    json_put_text(model, "owned_by", "openhands");
    return model;
}

json_t *openai_completion_usage(const struct openai_usage *usage)
{
    json_t *json = json_object();

    put_count(json, "prompt_tokens", usage->input_tokens);
    put_count(json, "completion_tokens", usage->output_tokens);
    put_count(json, "total_tokens", usage->input_tokens + usage->output_tokens);
    json_put(json, "prompt_tokens_details", detail_of("cached_tokens", usage->cached_tokens));
    json_put(json, "completion_tokens_details",
             detail_of("reasoning_tokens", usage->reasoning_tokens));
    return json;
}

static json_t *choice_of(const char *text)
{
    json_t *choice = json_object();
    json_t *message = json_object();

    json_put_text(message, "role", "assistant");
    json_put_text(message, "content", text);
    put_count(choice, "index", 0);
    json_put(choice, "message", message);
    json_put_text(choice, "finish_reason", "stop");
    return choice;
}

json_t *openai_chat_completion(const struct openai_answer *answer)
{
    json_t *json = json_object();
    json_t *choices = json_array();

    put_id(json, answer->id, "chatcmpl-");
    json_put_text(json, "object", "chat.completion");
    put_count(json, "created", answer->begun_s);
    json_put_text(json, "model", answer->model);
    json_push(choices, choice_of(answer->text));
    json_put(json, "choices", choices);
    json_put(json, "usage", openai_completion_usage(&answer->usage));
    return json;
}

json_t *openai_response_usage(const struct openai_usage *usage)
{
    json_t *json = json_object();

    put_count(json, "input_tokens", usage->input_tokens);
    json_put(json, "input_tokens_details", detail_of("cached_tokens", usage->cached_tokens));
    put_count(json, "output_tokens", usage->output_tokens);
    json_put(json, "output_tokens_details", detail_of("reasoning_tokens", usage->reasoning_tokens));
    put_count(json, "total_tokens", usage->input_tokens + usage->output_tokens);
    return json;
}

json_t *openai_text_part(const char *text)
{
    json_t *part = json_object();

    json_put_text(part, "type", "output_text");
    json_put_text(part, "text", text);
    json_put(part, "annotations", json_array());
    return part;
}

json_t *openai_message(const char *id, const char *text)
{
    json_t *message = json_object();
    json_t *content = json_array();

    json_push(content, openai_text_part(text));
    put_id(message, id, "msg_");
    json_put_text(message, "type", "message");
    json_put_text(message, "role", "assistant");
    json_put_text(message, "status", "completed");
    json_put(message, "content", content);
    return message;
}

static void copy_member(json_t *object, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);

    json_put(object, name, value != NULL ? json_incref(value) : json_null());
}

json_t *openai_response(const struct openai_answer *answer, const json_t *asked)
{
    json_t *json = json_object();
    json_t *output = json_array();

    json_push(output, openai_message(answer->item_id, answer->text));
    put_id(json, answer->id, "resp_");
    json_put_text(json, "object", "response");
    put_count(json, "created_at", answer->begun_s);
    put_count(json, "completed_at", answer->ended_s);
    json_put_text(json, "model", answer->model);
    json_put_text(json, "status", "completed");
    copy_member(json, asked, "instructions");
    copy_member(json, asked, "metadata");
    json_put(json, "previous_response_id", json_null());
    json_put(json, "output", output);
    json_put(json, "parallel_tool_calls", json_false());
    json_put_text(json, "tool_choice", "none");
    json_put(json, "tools", json_array());
    json_put(json, "usage", openai_response_usage(&answer->usage));
    return json;
}
