#include "model/prompt/planned_events.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "model/event/title.h"
#include "model/prompt/prompt.h"
#include "model/prompt/prompt_context.h"
#include "model/prompt/skills.h"
#include "model/tools/toolset.h"

static void register_llm(struct stats *stats, const json_t *llm)
{
    if (llm != NULL)
        stats_register(stats, json_text_or(llm, "usage_id", "default"),
                       json_text_or(llm, "model", ""));
}

/* From its first message on a conversation has the cost of each of its models, initially zero. */
static void plan_stats(const struct conversation *conversation, struct conversation_change *change)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(conversation->stats);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *condenser = json_object_get(conversation_agent(conversation), "condenser");

    register_llm(stats, conversation_llm(conversation));
    register_llm(stats, json_object_get(condenser, "llm"));
    stats_append_text(stats, &text);
    change->stats = strbuf_take(&text);
}

void conversation_add_system_prompt(const struct catalogue *catalogue,
                                    const struct conversation *conversation,
                                    struct event_list *events)
{
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = toolset_new(catalogue, conversation);
    json_auto_t *definitions = toolset_definitions(tools);

    prompt_append(catalogue, conversation, &prompt);
    prompt_append_context(catalogue, conversation, &context);
    event_add_system_prompt(events, prompt.text, definitions, context.text);
}

/* The system prompt precedes all other events except state updates. */
static void plan_system_prompt(const struct catalogue *catalogue,
                               const struct conversation *conversation, struct event_list *events,
                               struct conversation_change *change)
{
    if (conversation->is_begun)
        return;
    conversation_add_system_prompt(catalogue, conversation, events);
    plan_stats(conversation, change);
}

static void plan_status(struct event_list *events, enum execution_status status,
                        struct conversation_change *change)
{
    if (change->status == status)
        return;
    event_add_status(events, status);
    change->status = status;
}

static bool is_over(enum execution_status status)
{
    return status == STATUS_FINISHED || status == STATUS_STUCK;
}

void conversation_change_done(struct conversation_change *change)
{
    if (change == NULL)
        return;
    mem_free(change->first_title);
    mem_free(change->stats);
    change->first_title = NULL;
    change->stats = NULL;
}

/* A scripted model cannot be asked for a title. */
static bool is_scripted(const struct conversation *conversation)
{
    return text_starts_with(json_text_or(conversation_llm(conversation), "model", ""), "scripted/");
}

/* A conversation without a title gets one from its first user message. */
static void plan_name(const struct conversation *conversation, const json_t *content,
                      struct conversation_change *change)
{
    if (conversation->title != NULL || uuid_is_set(&conversation->last_user_message_id) ||
        json_bool_or(conversation->spec, "autotitle", 1) == 0)
        return;
    change->wants_title = !is_scripted(conversation);
    for (size_t i = 0; !change->wants_title && i < json_array_size(content); i++) {
        change->first_title = title_from_text(json_text_or(json_array_get(content, i), "text", ""));
        if (change->first_title != NULL)
            return;
    }
}

int conversation_plan_message(const struct conversation *conversation,
                              const struct planned_message *message, struct event_list *events,
                              struct conversation_change *change_out, struct error *err)
{
    CLEANUP(skill_texts_done) struct skill_texts skills = SKILL_TEXTS_INIT;
    struct conversation_change change = {.status = conversation->status};
    json_t *content = message->content;
    json_auto_t *id = NULL;

    if (json_typeof(content) != JSON_ARRAY)
        return error_set(err, ERROR_INVALID, "a message's content must be a list");
    plan_system_prompt(message->catalogue, conversation, events, &change);
    if (is_over(change.status))
        plan_status(events, STATUS_IDLE, &change);
    skills_for_message(message->catalogue, conversation, content, &skills);
    change.last_user_message_id =
        event_add_user_message_with(events, content, skills.names, skills.parts);
    id = json_text_of(change.last_user_message_id.text);
    event_add_state(events, "last_user_message_id", id);
    plan_name(conversation, content, &change);
    if (message->run == MESSAGE_AND_RUN) {
        plan_status(events, STATUS_RUNNING, &change);
        change.wants_run = true;
    }
    *change_out = change;
    return 0;
}

void conversation_plan_run(const struct catalogue *catalogue,
                           const struct conversation *conversation, struct event_list *events,
                           struct conversation_change *change_out)
{
    struct conversation_change change = {.status = conversation->status, .wants_run = true};

    plan_system_prompt(catalogue, conversation, events, &change);
    plan_status(events, status_on_run(conversation->status), &change);
    *change_out = change;
}
