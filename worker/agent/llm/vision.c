#include "worker/agent/llm/vision.h"

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm_prompt.h"
#include "model/catalogue/catalogue.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/context.h"

static bool has_image(const struct stored_event *event)
{
    const json_t *content =
        json_object_get(json_object_get(stored_event_json(event), "llm_message"), "content");

    for (size_t i = 0; i < json_array_size(content); i++) {
        if (text_equal(json_text_or(json_array_get(content, i), "type", ""), "image"))
            return true;
    }
    return false;
}

/* The source of calls and results is known without their bodies, which may be packed. */
static bool is_agents(const struct stored_event *event)
{
    return stored_event_is(event, "ActionEvent") ||
           (!stored_event_is(event, "ObservationEvent") &&
            text_equal(json_text_or(stored_event_json(event), "source", ""), "agent"));
}

bool vision_is_asked(const struct history *history)
{
    bool has_words = false;

    for (size_t i = history->n; i > 0; i--) {
        const struct stored_event *event = &history->items[i - 1];
        bool is_users = stored_event_is_message(event, "user");

        if (is_users && has_image(event))
            return true;
        /* The agent has seen what comes before its own words. */
        if (has_words && is_agents(event))
            return false;
        has_words = has_words || is_users;
    }
    return false;
}

int vision_end_run(struct agent *agent, const json_t *spec, bool *ended_out, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const struct catalogue *catalogue = agent->context->catalogue;
    const struct text_value model = {"model", json_text_or(spec, "model", "")};
    struct conversation_write change = {.made_progress = true};

    *ended_out = false;
    if (!vision_is_asked(&agent->history) || llm_takes_images(catalogue, spec))
        return 0;
    *ended_out = true;
    log_info("model.blind");
    catalogue_append(catalogue, TEXT_NO_VISION, "", &model, 1, &words);
    (void)event_add_agent_message(&events, words.text, NULL, NULL);
    run_end_plan(&events, STATUS_FINISHED, &change);
    if (event_writer_append_unless_spoken(agent, &events, &change, err) < 0)
        return -1;
    agent->is_over = true;
    return 0;
}
