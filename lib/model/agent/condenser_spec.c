#include "model/agent/condenser_spec.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "model/agent/agent_fields.h"
#include "model/agent/llm_spec.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"

/* More condensers in a row do nothing. */
enum { PIPELINE_MAX = 16 };

static void refuse_bound(json_t *problems, const struct json_path *path,
                         struct validation_error *problem, const char *bound, json_t *value)
{
    problem->ctx = json_object();
    json_put(problem->ctx, bound, json_integer(bound[0] == 'g' ? 0 : 1));
    validation_error_add(problems, path, problem, value);
}

static void check_share(json_t *object, const char *name, const struct json_path *path,
                        json_t *problems)
{
    const struct json_path at = {path, name, 0};
    json_t *value = json_object_get(object, name);
    struct validation_error low = {"greater_than", "Input should be greater than 0", NULL};
    struct validation_error high = {"less_than", "Input should be less than 1", NULL};

    if (!json_is_number(value))
        return;
    if (json_number_value(value) <= 0)
        refuse_bound(problems, &at, &low, "gt", value);
    if (json_number_value(value) >= 1)
        refuse_bound(problems, &at, &high, "lt", value);
}

void condenser_check_shares(json_t *condenser, const struct json_path *path, json_t *problems)
{
    check_share(condenser, "minimum_progress", path, problems);
    check_share(condenser, "hard_context_reset_context_scaling", path, problems);
}

/* No client sees a summary while it is generated. */
static void check_not_streaming(const json_t *condenser, const struct json_path *path,
                                json_t *problems)
{
    json_t *llm = json_object_get(condenser, "llm");
    const struct json_path at = {path, "llm", 0};

    if (json_bool_or(llm, "stream", 0))
        validation_error_add_value(problems, &at, "a condenser's model cannot stream", llm);
}

/* Half of the events stay: the first ones, the summary, and at least one of the newest. */
static void check_room(json_t *condenser, const struct json_path *path, json_t *problems)
{
    if (json_int_or(condenser, "max_size", 0) / 2 - json_int_or(condenser, "keep_first", 0) <= 1)
        validation_error_add_value(
            problems, path,
            "keep_first must be less than max_size / 2 - 1, to leave room for newer events",
            condenser);
}

static json_t *read_summarizing(json_t *input, const struct conversation_defaults *defaults,
                                const struct json_path *path, json_t *problems)
{
    json_t *condenser = object_schema_read(&summarizing_condenser_schema, input, path, problems);
    json_t *llm = json_object_get(input, "llm");
    const struct json_path at = {path, "llm", 0};

    if (json_is_object(llm))
        json_put(condenser, "llm", llm_spec_read(llm, defaults, &at, problems));
    check_not_streaming(condenser, path, problems);
    condenser_check_shares(condenser, path, problems);
    check_room(condenser, path, problems);
    json_put_text(condenser, "kind", "LLMSummarizingCondenser");
    return condenser;
}

/* Anything but a pipeline. */
static json_t *read_single(json_t *input, const struct conversation_defaults *defaults,
                           const struct json_path *path, json_t *problems)
{
    const char *kind = json_text_or(input, "kind", NULL);

    if (kind == NULL)
        validation_error_add_value(problems, path, "a condenser needs a kind", input);
    else if (text_equal(kind, "LLMSummarizingCondenser"))
        return read_summarizing(input, defaults, path, problems);
    else if (!text_equal(kind, "NoOpCondenser"))
        validation_error_add_value(problems, path, "no condenser of this kind can be used here",
                                   input);
    return json_deep_copy(input);
}

json_t *condenser_read(json_t *input, const struct conversation_defaults *defaults,
                       const struct json_path *path, json_t *problems)
{
    json_t *parts = json_object_get(input, "condensers");
    const struct json_path parts_path = {path, "condensers", 0};
    json_t *read = NULL;
    json_t *pipeline = NULL;

    if (!text_equal(json_text_or(input, "kind", ""), "PipelineCondenser"))
        return read_single(input, defaults, path, problems);
    pipeline = json_object();
    read = json_array();
    json_put(pipeline, "condensers", read);
    json_put_text(pipeline, "kind", "PipelineCondenser");
    if (!json_is_array(parts) || json_array_size(parts) > PIPELINE_MAX) {
        validation_error_add_value(problems, &parts_path,
                                   "a pipeline is a list of at most 16 condensers", input);
        return pipeline;
    }
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const struct json_path at = {&parts_path, NULL, (json_int_t)i};

        json_push(read, read_single(json_array_get(parts, i), defaults, &at, problems));
    }
    return pipeline;
}
