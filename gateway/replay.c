#include "gateway/replay.h"

#include <stddef.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"
#include "store/conversation/live_store.h"
#include "store/db/db_pipe.h"

struct replay {
    struct subscriber *subscriber;
    struct replay_question question;
};

void replay_free(struct replay *replay)
{
    if (replay == NULL)
        return;
    db_ticket_forget(&replay->question.ticket);
    event_batch_done(&replay->question.batch);
    mem_free(replay);
}

static void on_batch(struct replay_question *question, const struct error *err)
{
    struct replay *replay = lws_container_of(question, struct replay, question);
    struct subscriber *subscriber = replay->subscriber;

    if (err == NULL && question->batch.n > 0) {
        subscriber_wake(subscriber);
        return;
    }
    if (err != NULL)
        log_warning("replay.failed", LOG_STR("conversation_id", question->conversation_id.text),
                    LOG_ERROR(err));
    subscriber_close(subscriber, err != NULL && err->code == ERROR_NOT_FOUND
                                     ? SUBSCRIBER_NOT_FOUND
                                     : SUBSCRIBER_UNAVAILABLE);
}

static void ask(struct subscriber *subscriber, int64_t after_seq)
{
    struct replay *replay = subscriber->replay;

    if (replay == NULL) {
        replay = NEW(struct replay);
        replay->subscriber = subscriber;
        subscriber->replay = replay;
    }
    if (replay->question.ticket != NULL)
        return;
    event_batch_done(&replay->question.batch);
    replay->question.conversation_id = subscriber->request.conversation_id;
    replay->question.after_seq = after_seq;
    replay->question.done = on_batch;
    live_ask_replay(subscriber->gateway->back, &replay->question);
}

const char *replay_body(struct subscriber *subscriber, int64_t seq)
{
    const struct replay *replay = subscriber->replay;
    const struct event_batch *batch = replay != NULL ? &replay->question.batch : NULL;

    if (batch != NULL && batch->n > 0 && seq >= batch->seqs[0] &&
        (size_t)(seq - batch->seqs[0]) < batch->n)
        return batch->bodies[seq - batch->seqs[0]];
    ask(subscriber, seq - 1);
    return NULL;
}
