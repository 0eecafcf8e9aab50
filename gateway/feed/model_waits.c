#include "gateway/feed/model_waits.h"

#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <jansson.h>
#include <libwebsockets.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/event/progress.h"

TAILQ_HEAD(model_wait_list, model_wait);

struct model_wait {
    TAILQ_ENTRY(model_wait) link;
    char conversation_id[UUID_TEXT_BYTES];
    int64_t heard_ms;
    int64_t due_ms;        /* when the next attempt begins */
    json_t *json;          /* the progress line of the failed attempt; NULL: no retry is pending */
    struct progress ended; /* its end; borrows from json */
};

struct model_waits {
    void *by_conversation;         /* a tree of tsearch(), of the entries' ids */
    struct model_wait_list by_age; /* the one heard from last first */
    size_t n;
};

struct model_waits *model_waits_new(void)
{
    struct model_waits *waits = NEW(struct model_waits);

    TAILQ_INIT(&waits->by_age);
    return waits;
}

static int compare(const void *one, const void *other)
{
    return strcmp(one, other);
}

static struct model_wait *find(const struct model_waits *waits, const char *conversation_id)
{
    char *const *node = tfind(conversation_id, &waits->by_conversation, compare);

    return node != NULL ? lws_container_of(*node, struct model_wait, conversation_id) : NULL;
}

static void drop_oldest(struct model_waits *waits)
{
    struct model_wait *wait = TAILQ_LAST(&waits->by_age, model_wait_list);

    (void)tdelete(wait->conversation_id, &waits->by_conversation, compare);
    TAILQ_REMOVE(&waits->by_age, wait, link);
    waits->n--;
    json_decref(wait->json);
    mem_free(wait);
}

void model_waits_free(struct model_waits *waits)
{
    if (waits == NULL)
        return;
    while (!TAILQ_EMPTY(&waits->by_age))
        drop_oldest(waits);
    mem_free(waits);
}

static struct model_wait *add(struct model_waits *waits, const char *conversation_id)
{
    struct model_wait *wait = NULL;

    if (waits->n == MODEL_WAITS_MAX)
        drop_oldest(waits);
    wait = NEW(struct model_wait);
    memcpy(wait->conversation_id, conversation_id, strlen(conversation_id) + 1);
    if (tsearch(wait->conversation_id, &waits->by_conversation, compare) == NULL)
        abort(); /* out of memory, as in mem_alloc() */
    TAILQ_INSERT_HEAD(&waits->by_age, wait, link);
    waits->n++;
    return wait;
}

/*
 * Most lines are pieces, which are not parsed here. Quotes inside a text are escaped, so these two
 * cannot match there.
 */
static bool is_retried(const char *line)
{
    return strstr(line, "\"attempts\":") != NULL;
}

static bool is_of_tool(const char *line)
{
    return strstr(line, "\"kind\":\"tool_progress\"") != NULL;
}

static void note_retry(struct model_wait *wait, const char *line)
{
    struct error err = ERROR_INIT;

    if (progress_read(line, strlen(line), &wait->json, &wait->ended, &err) < 0) {
        log_warning("delta.unreadable", LOG_ERROR(&err));
        return;
    }
    wait->due_ms = wait->heard_ms + wait->ended.retry_in_ms;
}

void model_waits_hear(struct model_waits *waits, const char *conversation_id, const char *line,
                      int64_t now_ms)
{
    struct model_wait *wait = NULL;

    if (strlen(conversation_id) >= UUID_TEXT_BYTES || is_of_tool(line))
        return;
    wait = find(waits, conversation_id);
    if (wait == NULL)
        wait = add(waits, conversation_id);
    TAILQ_REMOVE(&waits->by_age, wait, link);
    TAILQ_INSERT_HEAD(&waits->by_age, wait, link);
    wait->heard_ms = now_ms;
    json_decref(TAKE_PTR(wait->json));
    if (is_retried(line))
        note_retry(wait, line);
}

/* Of a time span of which some has passed; at least 1, since 0 stands for no span. */
static int64_t time_left(int64_t span_ms, int64_t passed_ms)
{
    return span_ms > passed_ms ? span_ms - passed_ms : 1;
}

/* The anchor is the last event the model has seen: a later event is its answer, or restarts it. */
bool model_waits_find(const struct model_waits *waits, const char *conversation_id,
                      int64_t last_seq, int64_t now_ms, struct progress *end_out)
{
    const struct model_wait *wait = find(waits, conversation_id);

    if (wait == NULL || wait->json == NULL || last_seq > wait->ended.anchor_seq)
        return false;
    *end_out = wait->ended;
    end_out->retry_in_ms = wait->due_ms > now_ms ? wait->due_ms - now_ms : 0;
    if (end_out->gives_up_in_ms > 0)
        end_out->gives_up_in_ms = time_left(end_out->gives_up_in_ms, now_ms - wait->heard_ms);
    return true;
}

int64_t model_waits_heard_ms(const struct model_waits *waits, const char *conversation_id)
{
    const struct model_wait *wait = find(waits, conversation_id);

    return wait != NULL ? wait->heard_ms : -1;
}
