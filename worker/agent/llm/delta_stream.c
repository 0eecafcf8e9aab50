#include "worker/agent/llm/delta_stream.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/progress.h"
#include "model/masking/masker.h"
#include "store/db/hints.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_list.h"
#include "worker/context.h"

static void begin_masking(struct delta_stream *stream)
{
    struct masker *masker = stream->agent->secrets.masker;

    if (masker == NULL)
        return;
    stream->text = masking_new(masker);
    stream->reasoning = masking_new(masker);
}

static void end_masking(struct delta_stream *stream)
{
    masking_free(TAKE_PTR(stream->text));
    masking_free(TAKE_PTR(stream->reasoning));
}

struct delta_stream delta_stream_begin(struct agent *agent)
{
    struct delta_stream stream = {.agent = agent, .chunk_id = STRBUF_INIT};

    begin_masking(&stream);
    stream.item.text = (struct delta_chunks)CHUNKS_INIT;
    stream.item.reasoning = (struct delta_chunks)CHUNKS_INIT;
    stream.item.progress = (struct progress){.conversation_id = agent->lease.conversation_id,
                                             .item_id = agent->answer_id,
                                             .attempt = 1,
                                             .anchor_seq = agent->history.last_seq};
    return stream;
}

static void send(struct delta_stream *stream, enum progress_kind kind, const struct strbuf *text)
{
    if (text->len > 0)
        delta_outbox_add(stream->agent->context->outbox, &stream->item, kind, text->text,
                         text->len);
}

/* Holds back text that may be the beginning of a secret. */
static void send_piece(struct delta_stream *stream, const struct llm_piece *piece)
{
    enum progress_kind kind = piece->is_reasoning ? PROGRESS_REASONING : PROGRESS_TEXT;
    struct masking *masking = piece->is_reasoning ? stream->reasoning : stream->text;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (masking != NULL)
        masking_feed(masking, piece->text, piece->len, &text);
    else
        strbuf_append_bytes(&text, piece->text, piece->len);
    send(stream, kind, &text);
}

static void send_held(struct delta_stream *stream, enum progress_kind kind, struct masking *masking)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (masking == NULL)
        return;
    masking_finish(masking, &text);
    send(stream, kind, &text);
}

static void begin_item(struct delta_stream *stream, const char *response_id)
{
    stream->is_open = true;
    strbuf_reset(&stream->chunk_id);
    strbuf_append(&stream->chunk_id, response_id);
    stream->item.progress.order = 0;
    stream->item.progress.chunk_id = stream->chunk_id.len > 0 ? stream->chunk_id.text : NULL;
    delta_outbox_end(stream->agent->context->outbox, &stream->item, PROGRESS_STARTED, "");
}

static void on_piece(void *owner, const struct llm_piece *piece)
{
    struct delta_stream *stream = owner;

    if (!stream->is_open)
        begin_item(stream, piece->response_id);
    send_piece(stream, piece);
}

/*
 * A failed attempt that is followed by another one is reported even if nothing was streamed:
 * subscribers see why there is no answer yet, and when the next attempt begins.
 */
static void on_failed(void *owner, const struct llm_attempt *attempt)
{
    struct delta_stream *stream = owner;
    struct progress *progress = &stream->item.progress;
    CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;

    end_masking(stream);
    begin_masking(stream);
    secret_list_mask_text(&stream->agent->secrets, attempt->reason, &reason);
    progress->n_attempts = attempt->n_attempts;
    progress->retry_in_ms = attempt->retry_in_ms;
    if (stream->is_open || attempt->n_attempts > 0)
        delta_outbox_end(stream->agent->context->outbox, &stream->item, PROGRESS_ABORTED,
                         reason.text);
    progress->n_attempts = 0;
    progress->retry_in_ms = 0;
    stream->is_open = false;
    progress->attempt++;
}

struct llm_listener delta_stream_listener(struct delta_stream *stream)
{
    return (struct llm_listener){.piece = on_piece, .failed = on_failed, .owner = stream};
}

void delta_stream_done(struct delta_stream *stream)
{
    send_held(stream, PROGRESS_REASONING, stream->reasoning);
    send_held(stream, PROGRESS_TEXT, stream->text);
    delta_outbox_leave(stream->agent->context->outbox, &stream->item);
    stream->agent->told_attempt = stream->is_open ? stream->item.progress.attempt : 0;
    delta_chunks_done(&stream->item.text);
    delta_chunks_done(&stream->item.reasoning);
    end_masking(stream);
    strbuf_done(&stream->chunk_id);
}

struct retry_notice retry_notice_begin(struct agent *agent)
{
    return (struct retry_notice){.agent = agent, .item_id = uuid_random(), .attempt = 1};
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
    struct retry_notice *notice = owner;
    struct agent *agent = notice->agent;
    CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct progress progress = {.conversation_id = agent->lease.conversation_id,
                                .item_id = notice->item_id,
                                .kind = PROGRESS_ABORTED,
                                .attempt = notice->attempt++,
                                .anchor_seq = agent->history.last_seq,
                                .n_attempts = attempt->n_attempts,
                                .retry_in_ms = attempt->retry_in_ms,
                                .gives_up_in_ms = attempt->gives_up_in_ms};

    if (attempt->n_attempts == 0)
        return;
    secret_list_mask_text(&agent->secrets, attempt->reason, &reason);
    progress.text = reason.text;
    progress_append_line(&progress, &line);
    hints_send_line(agent->context->hints, line.text);
}

struct llm_listener retry_notice_listener(struct retry_notice *notice)
{
    return (struct llm_listener){.piece = pass_piece, .failed = tell_retry, .owner = notice};
}

void retry_notice_send_outage(struct agent *agent, const struct llm_attempt *attempt)
{
    struct retry_notice notice = retry_notice_begin(agent);

    notice.attempt = attempt->n_attempts - 1;
    tell_retry(&notice, attempt);
}

void delta_stream_retract(struct agent *agent, const char *reason)
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
