#include "start/start_validate.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/limits.h"
#include "model/schema/validation_error.h"
#include "model/start/memory_size.h"
#include "start/start_context.h"
#include "start/start_parse.h"

#define NANO_PER_CPU 1e9

static const struct json_path body_place = {NULL, "body", 0};
static const struct json_path container_place = {&body_place, "container", 0};
static const struct json_path memory_place = {&container_place, "memory", 0};
static const struct json_path cpus_place = {&container_place, "cpus", 0};

void start_plan_done(struct start_plan *plan)
{
    conversation_done(&plan->conversation);
    secret_done(&plan->secrets);
    json_decref(plan->content);
}

static int read_conversation(const struct start_context *context,
                             const struct start_request *request, struct start_plan *plan,
                             struct error *err)
{
    json_auto_t *problems = NULL;

    if (conversation_from_request(request->body, &context->defaults, &plan->conversation,
                                  &plan->secrets, &plan->content, &problems, err) == 0)
        return 0;
    if (problems != NULL)
        (void)json_array_extend(context->problems, problems);
    return -1;
}

static void check_memory(const struct start_context *context, json_t *memory)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    int64_t most = context->limits.memory_bytes;
    int64_t bytes = 0;

    if (!json_is_string(memory))
        return;
    bytes = memory_size_bytes(json_string_value(memory));
    if (bytes >= SANDBOX_MEMORY_MIN_BYTES && bytes <= most)
        return;
    strbuf_appendf(&words, "a sandbox's memory must be from %lld to %lld bytes",
                   (long long)SANDBOX_MEMORY_MIN_BYTES, (long long)most);
    validation_error_add_value(context->problems, &memory_place, words.text, memory);
}

static void check_cpus(const struct start_context *context, json_t *cpus)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    double most = (double)context->limits.nano_cpus / NANO_PER_CPU;

    if (!json_is_number(cpus) || json_number_value(cpus) <= most)
        return;
    strbuf_appendf(&words, "a sandbox may have at most %g processors", most);
    validation_error_add_value(context->problems, &cpus_place, words.text, cpus);
}

int start_validate(const struct start_context *context, const struct start_request *request,
                   struct start_plan *plan_out, struct error *err)
{
    const json_t *container = NULL;

    if (read_conversation(context, request, plan_out, err) < 0)
        return -1;
    plan_out->sender = request->sender;
    if (request->launched_profile != NULL)
        json_put(plan_out->conversation.spec, "launched_agent_profile",
                 json_incref(request->launched_profile));
    container = json_object_get(plan_out->conversation.spec, "container");
    check_memory(context, json_object_get(container, "memory"));
    check_cpus(context, json_object_get(container, "cpus"));
    return start_check_problems(context, err);
}
