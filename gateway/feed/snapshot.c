#include "gateway/feed/snapshot.h"

#include <libwebsockets.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "gateway/core/frame.h"
#include "model/conversation/conversation.h"
#include "store/conversation/async_store.h"
#include "store/db/db_async.h"

struct snapshot {
    struct state_query query;
    void (*loaded)(void *owner, const struct error *err);
    void *owner;
    int64_t asked_round;
    int64_t round;
    int64_t seq; /* -1: none is loaded */
    struct frame *forms[N_FORMS];
};

struct snapshot *snapshot_new(void)
{
    struct snapshot *snapshot = NEW(struct snapshot);

    snapshot->seq = -1;
    return snapshot;
}

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
    async_query_cancel(&snapshot->query.pending);
    conversation_done(&snapshot->query.conversation);
    drop_frames(snapshot);
    mem_free(snapshot);
}

static void take_snapshot(struct snapshot *snapshot)
{
    struct conversation *conversation = &snapshot->query.conversation;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    drop_frames(snapshot);
    conversation_append_snapshot(conversation, clock_utc_us(), &text);
    snapshot->forms[FORM_EVENT] = frame_new(text.text, text.len);
    snapshot->seq = conversation->last_seq;
    snapshot->round = snapshot->asked_round;
    conversation_done(conversation);
}

static void on_state(struct state_query *query, const struct error *err)
{
    struct snapshot *snapshot = lws_container_of(query, struct snapshot, query);

    if (err == NULL)
        take_snapshot(snapshot);
    else
        log_warning("snapshot.failed", LOG_STR("conversation_id", query->conversation_id.text),
                    LOG_ERROR(err));
    snapshot->loaded(snapshot->owner, err);
}

static void query_snapshot(struct snapshot *snapshot, const struct snapshot_source *source,
                           int64_t round)
{
    if (snapshot->query.pending != NULL)
        return;
    snapshot->asked_round = round;
    snapshot->loaded = source->loaded;
    snapshot->owner = source->owner;
    snapshot->query.conversation_id = *source->conversation_id;
    snapshot->query.user_id = *source->user_id;
    snapshot->query.done = on_state;
    async_store_read_state(source->live, &snapshot->query);
}

int64_t snapshot_seq(struct snapshot *snapshot, const struct snapshot_source *source, int64_t round,
                     int64_t min_seq)
{
    if (snapshot->round == round && snapshot->seq >= 0 && snapshot->seq >= min_seq)
        return snapshot->seq;
    query_snapshot(snapshot, source, round);
    return -1;
}

struct frame *snapshot_frame(struct snapshot *snapshot, enum frame_form form)
{
    if (snapshot->forms[form] == NULL)
        snapshot->forms[form] =
            frame_transient((const char *)frame_text(snapshot->forms[FORM_EVENT]));
    return frame_hold(snapshot->forms[form]);
}
