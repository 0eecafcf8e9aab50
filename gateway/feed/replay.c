#include "gateway/feed/replay.h"

#include <stddef.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/conversation/async_store.h"
#include "store/db/db_async.h"

struct replay {
    struct replay_source source;
    struct replay_query query;
};

struct replay *replay_new(const struct replay_source *source, const struct uuid *conversation_id)
{
    struct replay *replay = NEW(struct replay);

    replay->source = *source;
    replay->query.conversation_id = *conversation_id;
    return replay;
}

void replay_free(struct replay *replay)
{
    if (replay == NULL)
        return;
    async_query_cancel(&replay->query.pending);
    event_batch_done(&replay->query.batch);
    mem_free(replay);
}

static void on_batch(struct replay_query *query, const struct error *err)
{
    struct replay *replay = lws_container_of(query, struct replay, query);
    struct error gap = ERROR_INIT;

    if (err == NULL && query->batch.n == 0) {
        error_set(&gap, ERROR_UNAVAILABLE, "no events after %lld", (long long)query->after_seq);
        replay->source.loaded(replay->source.owner, &gap);
        return;
    }
    if (err != NULL)
        log_warning("event_replay.failed", LOG_STR("conversation_id", query->conversation_id.text),
                    LOG_ERROR(err));
    replay->source.loaded(replay->source.owner, err);
}

static void query_page(struct replay *replay, int64_t after_seq)
{
    if (replay->query.pending != NULL)
        return;
    event_batch_done(&replay->query.batch);
    replay->query.after_seq = after_seq;
    replay->query.done = on_batch;
    async_store_replay(replay->source.back, &replay->query);
}

const char *replay_body(struct replay *replay, int64_t seq)
{
    const struct event_batch *batch = &replay->query.batch;

    if (batch->n > 0 && seq >= batch->seqs[0] && (size_t)(seq - batch->seqs[0]) < batch->n)
        return batch->bodies[seq - batch->seqs[0]];
    query_page(replay, seq - 1);
    return NULL;
}
