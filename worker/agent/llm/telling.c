#include "worker/agent/llm/telling.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/progress.h"
#include "model/masking/masker.h"
#include "store/db/hints.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/mask.h"
#include "worker/context.h"

static void begin_masking(struct telling *telling)
{
    struct masker *masker = telling->agent->secrets.masker;

    if (masker == NULL)
        return;
    telling->text = masking_new(masker);
    telling->reasoning = masking_new(masker);
}

static void end_masking(struct telling *telling)
{
    masking_free(TAKE_PTR(telling->text));
    masking_free(TAKE_PTR(telling->reasoning));
}

struct telling telling_begin(struct agent *agent)
{
    struct telling telling = {.agent = agent, .chunk_id = STRBUF_INIT};

    begin_masking(&telling);
    telling.item.text = (struct chunks)CHUNKS_INIT;
    telling.item.reasoning = (struct chunks)CHUNKS_INIT;
    telling.item.progress = (struct progress){.conversation_id = agent->lease.conversation_id,
                                              .item_id = agent->answer_id,
                                              .attempt = 1,
                                              .anchor_seq = agent->history.last_seq};
    return telling;
}

static void send(struct telling *telling, enum progress_kind kind, const struct strbuf *text)
{
    if (text->len > 0)
        outbox_add(telling->agent->context->outbox, &telling->item, kind, text->text, text->len);
}

/* Holds back text that may be the beginning of a secret. */
static void send_piece(struct telling *telling, const struct llm_piece *piece)
{
    enum progress_kind kind = piece->is_reasoning ? PROGRESS_REASONING : PROGRESS_TEXT;
    struct masking *masking = piece->is_reasoning ? telling->reasoning : telling->text;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (masking != NULL)
        masking_feed(masking, piece->text, piece->len, &text);
    else
        strbuf_append_bytes(&text, piece->text, piece->len);
    send(telling, kind, &text);
}

static void send_held(struct telling *telling, enum progress_kind kind, struct masking *masking)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (masking == NULL)
        return;
    masking_finish(masking, &text);
    send(telling, kind, &text);
}

static void begin_item(struct telling *telling, const char *response_id)
{
    telling->is_open = true;
    strbuf_reset(&telling->chunk_id);
    strbuf_append(&telling->chunk_id, response_id);
    telling->item.progress.order = 0;
    telling->item.progress.chunk_id = telling->chunk_id.len > 0 ? telling->chunk_id.text : NULL;
    outbox_end(telling->agent->context->outbox, &telling->item, PROGRESS_STARTED, "");
}

static void on_piece(void *owner, const struct llm_piece *piece)
{
    struct telling *telling = owner;

    if (!telling->is_open)
        begin_item(telling, piece->response_id);
    send_piece(telling, piece);
}

/*
 * A failed attempt that is followed by another one is reported even if nothing was streamed:
 * subscribers see why there is no answer yet, and when the next attempt begins.
 */
static void on_failed(void *owner, const struct llm_attempt *attempt)
{
    struct telling *telling = owner;
    struct progress *progress = &telling->item.progress;
    CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;

    end_masking(telling);
    begin_masking(telling);
    mask_append(&telling->agent->secrets, attempt->reason, &reason);
    progress->n_attempts = attempt->n_attempts;
    progress->retry_in_ms = attempt->retry_in_ms;
    if (telling->is_open || attempt->n_attempts > 0)
        outbox_end(telling->agent->context->outbox, &telling->item, PROGRESS_ABORTED, reason.text);
    progress->n_attempts = 0;
    progress->retry_in_ms = 0;
    telling->is_open = false;
    progress->attempt++;
}

struct llm_listener telling_listener(struct telling *telling)
{
    return (struct llm_listener){.piece = on_piece, .failed = on_failed, .owner = telling};
}

void telling_done(struct telling *telling)
{
    send_held(telling, PROGRESS_REASONING, telling->reasoning);
    send_held(telling, PROGRESS_TEXT, telling->text);
    outbox_leave(telling->agent->context->outbox, &telling->item);
    telling->agent->told_attempt = telling->is_open ? telling->item.progress.attempt : 0;
    chunks_done(&telling->item.text);
    chunks_done(&telling->item.reasoning);
    end_masking(telling);
    strbuf_done(&telling->chunk_id);
}

struct retry_telling retry_telling_begin(struct agent *agent)
{
    return (struct retry_telling){.agent = agent, .item_id = uuid_random(), .attempt = 1};
}

static void pass_piece(void *owner, const struct llm_piece *piece)
{
    (void)owner;
    (void)piece;
}

/*
 * The gateway shows it as an item of its own, unless an answer is being streamed at the same time.
 */
static void tell_retry(void *owner, const struct llm_attempt *attempt)
{
    struct retry_telling *telling = owner;
    struct agent *agent = telling->agent;
    CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct progress progress = {.conversation_id = agent->lease.conversation_id,
                                .item_id = telling->item_id,
                                .kind = PROGRESS_ABORTED,
                                .attempt = telling->attempt++,
                                .anchor_seq = agent->history.last_seq,
                                .n_attempts = attempt->n_attempts,
                                .retry_in_ms = attempt->retry_in_ms};

    if (attempt->n_attempts == 0)
        return;
    mask_append(&agent->secrets, attempt->reason, &reason);
    progress.text = reason.text;
    progress_append_line(&progress, &line);
    hints_send_line(agent->context->hints, line.text);
}

struct llm_listener retry_telling_listener(struct retry_telling *telling)
{
    return (struct llm_listener){.piece = pass_piece, .failed = tell_retry, .owner = telling};
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
