#include "worker/agent/core/transcript.h"

#include "store/conversation/event_store.h"
#include "worker/agent/core/messages.h"

/* Events of the end that stay unpacked; those before that may have been unpacked since. */
enum { UNPACKED_EVENTS = 8, LOOKED_BACK_EVENTS = 64 };

void transcript_done(struct transcript *transcript)
{
    if (transcript == NULL)
        return;
    llm_prompt_done(&transcript->prompt);
    json_decref(transcript->spec);
    *transcript = (struct transcript)TRANSCRIPT_INIT;
}

void transcript_restart(struct transcript *transcript)
{
    uint64_t generation = transcript->generation + 1;

    transcript_done(transcript);
    transcript->generation = generation;
}

void transcript_begin(struct transcript *transcript, const struct catalogue *catalogue,
                      json_t *spec)
{
    /* Looking the model up costs more than the rest of most updates. */
    if (spec == transcript->spec)
        return;
    if (!llm_prompt_fits(&transcript->prompt, catalogue, spec)) {
        transcript_restart(transcript);
        llm_prompt_begin(&transcript->prompt, catalogue, spec);
    }
    json_incref(spec);
    json_decref(transcript->spec);
    transcript->spec = spec;
}

void transcript_update(struct transcript *transcript, const struct history *history)
{
    json_auto_t *messages = json_array();
    struct messages_mark mark = {0, 0};

    mark = messages_append(messages, history, transcript->n_events);
    llm_prompt_rewind(&transcript->prompt, &transcript->settled);
    transcript->count = transcript->settled_count;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        llm_prompt_add(&transcript->prompt, json_array_get(messages, i));
        token_count_add(&transcript->count, json_array_get(messages, i));
        if (i + 1 != mark.n_messages)
            continue;
        transcript->settled = transcript->prompt.end;
        transcript->settled_count = transcript->count;
    }
    transcript->n_events = mark.n_events;
}

void transcript_pack(struct transcript *transcript, const struct history *history)
{
    size_t end = history->n > UNPACKED_EVENTS ? history->n - UNPACKED_EVENTS : 0;
    size_t i =
        transcript->n_packed > LOOKED_BACK_EVENTS ? transcript->n_packed - LOOKED_BACK_EVENTS : 0;

    if (end > transcript->n_events)
        end = transcript->n_events;
    for (; i < end; i++)
        stored_event_pack(&history->items[i]);
    transcript->n_packed = end;
}

void transcript_set_tools(struct transcript *transcript, const json_t *tools)
{
    llm_prompt_set_tools(&transcript->prompt, tools);
    transcript->n_tool_tokens = token_count_tools(tools);
    transcript->has_tools = true;
}
