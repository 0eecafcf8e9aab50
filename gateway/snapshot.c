#include "gateway/snapshot.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/stream.h"
#include "model/conversation/conversation.h"
#include "store/conversation/live_store.h"
#include "store/db/db_pipe.h"

struct snapshot {
    struct stream *stream;
    struct state_question question;
    int64_t asked_round;
    int64_t round;
    int64_t seq; /* -1: none is loaded */
    struct frame *forms[N_FORMS];
};

static void drop_frames(struct snapshot *snapshot)
{
    for (size_t i = 0; i < N_FORMS; i++)
        frame_release(TAKE_PTR(snapshot->forms[i]));
    snapshot->seq = -1;
}

void snapshot_free(struct snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    db_ticket_forget(&snapshot->question.ticket);
    conversation_done(&snapshot->question.conversation);
    drop_frames(snapshot);
    mem_free(snapshot);
}

static void take(struct snapshot *snapshot)
{
    struct conversation *conversation = &snapshot->question.conversation;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    drop_frames(snapshot);
    conversation_append_snapshot(conversation, clock_utc_us(), &text);
    snapshot->forms[FORM_EVENT] = frame_new(text.text, text.len);
    snapshot->seq = conversation->last_seq;
    snapshot->round = snapshot->asked_round;
    conversation_done(conversation);
}

/* While PostgreSQL is unavailable the subscribers ask again, and the pipe delays them. */
static void on_state(struct state_question *question, const struct error *err)
{
    struct snapshot *snapshot = lws_container_of(question, struct snapshot, question);
    struct stream *stream = snapshot->stream;

    stream_warm(stream);
    if (err == NULL)
        take(snapshot);
    else
        log_warning("snapshot.failed", LOG_STR("conversation_id", stream->conversation_id.text),
                    LOG_ERROR(err));
    if (err == NULL || error_is_transient(err))
        stream_wake_all(stream);
    else
        stream_close_all(stream);
}

static void ask(struct stream *stream)
{
    struct snapshot *snapshot = stream->snapshot;

    if (snapshot == NULL) {
        snapshot = NEW(struct snapshot);
        snapshot->stream = stream;
        snapshot->seq = -1;
        stream->snapshot = snapshot;
    }
    if (snapshot->question.ticket != NULL)
        return;
    snapshot->asked_round = stream->snapshot_round;
    snapshot->question.conversation_id = stream->conversation_id;
    snapshot->question.user_id = stream->user_id;
    snapshot->question.done = on_state;
    live_ask_state(stream->gateway->live, &snapshot->question);
}

int64_t snapshot_seq(struct stream *stream, int64_t min_seq)
{
    const struct snapshot *snapshot = stream->snapshot;

    if (snapshot != NULL && snapshot->round == stream->snapshot_round && snapshot->seq >= 0 &&
        snapshot->seq >= min_seq)
        return snapshot->seq;
    ask(stream);
    return -1;
}

struct frame *snapshot_frame(struct stream *stream, enum frame_form form)
{
    struct snapshot *snapshot = stream->snapshot;

    if (snapshot->forms[form] == NULL)
        snapshot->forms[form] =
            frame_transient((const char *)frame_text(snapshot->forms[FORM_EVENT]));
    return frame_hold(snapshot->forms[form]);
}
