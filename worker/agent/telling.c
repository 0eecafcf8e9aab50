#include "worker/agent/telling.h"

#include "base/text.h"
#include "model/progress.h"
#include "store/hints.h"
#include "worker/agent/agent.h"
#include "worker/agent/mask.h"
#include "worker/context.h"

struct telling telling_begin(struct agent *agent)
{
    struct telling telling = {.agent = agent,
                              .held_text = STRBUF_INIT,
                              .held_reasoning = STRBUF_INIT,
                              .chunk_id = STRBUF_INIT};

    telling.item.text = (struct strbuf)STRBUF_INIT;
    telling.item.reasoning = (struct strbuf)STRBUF_INIT;
    telling.item.progress = (struct progress){.conversation_id = agent->lease.conversation_id,
                                              .item_id = agent->answer_id,
                                              .attempt = 1,
                                              .anchor_seq = agent->history.last_seq};
    return telling;
}

/* Masks and sends the first len bytes of what is held, and keeps the rest. */
static void send_held(struct telling *telling, enum progress_kind kind, struct strbuf *held,
                      size_t len)
{
    struct agent *agent = telling->agent;
    CLEANUP(strbuf_done) struct strbuf part = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    if (len == 0)
        return;
    strbuf_append_bytes(&part, held->text, len);
    strbuf_remove_head(held, len);
    mask_append(&agent->secrets, part.text, &masked);
    outbox_add(agent->context->outbox, &telling->item, kind, masked.text, masked.len);
}

static void begin_item(struct telling *telling, const struct llm_piece *piece)
{
    telling->is_open = true;
    strbuf_reset(&telling->chunk_id);
    strbuf_append(&telling->chunk_id, piece->response_id);
    telling->item.progress.order = 0;
    telling->item.progress.chunk_id = telling->chunk_id.len > 0 ? telling->chunk_id.text : NULL;
    outbox_end(telling->agent->context->outbox, &telling->item, PROGRESS_STARTED, "");
}

static void on_piece(void *owner, const struct llm_piece *piece)
{
    struct telling *telling = owner;
    enum progress_kind kind = piece->is_reasoning ? PROGRESS_REASONING : PROGRESS_TEXT;
    struct strbuf *held = piece->is_reasoning ? &telling->held_reasoning : &telling->held_text;

    if (!telling->is_open)
        begin_item(telling, piece);
    strbuf_append_bytes(held, piece->text, piece->len);
    send_held(telling, kind, held, mask_settled_length(&telling->agent->secrets, held->text));
}

static void on_failed(void *owner, const char *reason)
{
    struct telling *telling = owner;

    strbuf_reset(&telling->held_text);
    strbuf_reset(&telling->held_reasoning);
    if (telling->is_open)
        outbox_end(telling->agent->context->outbox, &telling->item, PROGRESS_ABORTED, reason);
    telling->is_open = false;
    telling->item.progress.attempt++;
}

struct llm_listener telling_listener(struct telling *telling)
{
    return (struct llm_listener){.piece = on_piece, .failed = on_failed, .owner = telling};
}

void telling_done(struct telling *telling)
{
    send_held(telling, PROGRESS_REASONING, &telling->held_reasoning, telling->held_reasoning.len);
    send_held(telling, PROGRESS_TEXT, &telling->held_text, telling->held_text.len);
    outbox_leave(telling->agent->context->outbox, &telling->item);
    telling->agent->told_attempt = telling->is_open ? telling->item.progress.attempt : 0;
    strbuf_done(&telling->item.text);
    strbuf_done(&telling->item.reasoning);
    strbuf_done(&telling->held_text);
    strbuf_done(&telling->held_reasoning);
    strbuf_done(&telling->chunk_id);
}

void telling_retract(struct agent *agent, const char *reason)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct progress progress = {.conversation_id = agent->lease.conversation_id,
                                .item_id = agent->answer_id,
                                .kind = PROGRESS_ABORTED,
                                .attempt = agent->told_attempt,
                                .text = reason};

    if (agent->told_attempt == 0)
        return;
    agent->told_attempt = 0;
    progress_append_line(&progress, &line);
    hints_send_line(agent->context->hints, line.text);
}
