#include "model/prompt/knowledge_request.h"

#include "base/json.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/prompt/project_knowledge.h"

#define IS_REQUESTED "project_knowledge_requested"
#define REQUESTED_BY "requested_by"
#define HOOK "hook"

int64_t knowledge_request_count(const json_t *spec)
{
    return json_int_or(spec, KNOWLEDGE_REQUESTS, 0);
}

void knowledge_request_add(json_t *spec)
{
    json_put(spec, KNOWLEDGE_REQUESTS, json_integer(knowledge_request_count(spec) + 1));
}

void knowledge_request_end(json_t *spec, int64_t n)
{
    int64_t n_left = knowledge_request_count(spec) - n;

    if (n_left > 0)
        json_put(spec, KNOWLEDGE_REQUESTS, json_integer(n_left));
    else
        (void)json_object_del(spec, KNOWLEDGE_REQUESTS);
}

json_t *knowledge_request_event_value(bool is_requested)
{
    json_t *value = json_object();

    json_put(value, IS_REQUESTED, json_boolean(is_requested));
    return value;
}

bool knowledge_request_is_told_by(const json_t *event)
{
    return text_equal(json_text_or(event, "key", ""), PROJECT_KNOWLEDGE_KEY) &&
           json_bool_or(json_object_get(event, "value"), IS_REQUESTED, 0) != 0;
}

json_t *knowledge_request_hook_value(void)
{
    json_t *value = knowledge_request_event_value(true);

    json_put_text(value, REQUESTED_BY, HOOK);
    return value;
}

bool knowledge_request_is_of_hook(const json_t *event)
{
    return knowledge_request_is_told_by(event) &&
           text_equal(json_text_or(json_object_get(event, "value"), REQUESTED_BY, ""), HOOK);
}

bool knowledge_request_is_ended_by(const json_t *event)
{
    const json_t *value = json_object_get(event, "value");

    return text_equal(json_text_or(event, "key", ""), PROJECT_KNOWLEDGE_KEY) &&
           (project_knowledge_of(event) != NULL ||
            json_is_false(json_object_get(value, IS_REQUESTED)));
}
