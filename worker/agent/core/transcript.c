#include "worker/agent/core/transcript.h"

#include "llm/llm.h"
#include "worker/agent/core/messages.h"

void transcript_done(struct transcript *transcript)
{
    if (transcript == NULL)
        return;
    strbuf_done(&transcript->text);
    *transcript = (struct transcript)TRANSCRIPT_INIT;
}

void transcript_restart(struct transcript *transcript)
{
    strbuf_reset(&transcript->text);
    transcript->settled_len = 0;
    transcript->n_events = 0;
}

void transcript_update(struct transcript *transcript, const struct history *history,
                       const json_t *spec)
{
    json_auto_t *messages = json_array();
    struct messages_mark mark = messages_append(messages, history, transcript->n_events);

    strbuf_truncate(&transcript->text, transcript->settled_len);
    for (size_t i = 0; i < json_array_size(messages); i++) {
        llm_append_message(spec, json_array_get(messages, i), &transcript->text);
        if (i + 1 == mark.n_messages)
            transcript->settled_len = transcript->text.len;
    }
    transcript->n_events = mark.n_events;
}
