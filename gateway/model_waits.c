#include "gateway/model_waits.h"

#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/event/progress.h"

enum { BUCKETS = 1024 };

struct entry {
    struct entry *next_in_bucket;
    struct entry *newer;
    struct entry *older;
    char conversation_id[UUID_TEXT_BYTES];
    int64_t heard_ms;
    int64_t due_ms;        /* when the next attempt begins */
    json_t *json;          /* the progress line of the failed attempt; NULL: no retry is pending */
    struct progress ended; /* its end; borrows from json */
};

struct model_waits {
    struct entry *buckets[BUCKETS];
    struct entry *newest;
    struct entry *oldest;
    size_t n;
};

struct model_waits *model_waits_new(void)
{
    return NEW(struct model_waits);
}

/* FNV-1a: ids are random, so any hash distributes them. */
static size_t bucket_of(const char *conversation_id)
{
    uint32_t value = 2166136261U;

    for (const char *at = conversation_id; *at != '\0'; at++)
        value = (value ^ (unsigned char)*at) * 16777619U;
    return value % BUCKETS;
}

static struct entry *find(const struct model_waits *waits, const char *conversation_id)
{
    struct entry *entry = waits->buckets[bucket_of(conversation_id)];

    while (entry != NULL && !text_equal(entry->conversation_id, conversation_id))
        entry = entry->next_in_bucket;
    return entry;
}

static void unlink_age(struct model_waits *waits, struct entry *entry)
{
    if (entry->newer != NULL)
        entry->newer->older = entry->older;
    else
        waits->newest = entry->older;
    if (entry->older != NULL)
        entry->older->newer = entry->newer;
    else
        waits->oldest = entry->newer;
}

static void link_newest(struct model_waits *waits, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = waits->newest;
    if (waits->newest != NULL)
        waits->newest->newer = entry;
    else
        waits->oldest = entry;
    waits->newest = entry;
}

static void drop(struct model_waits *waits, struct entry *entry)
{
    struct entry **at = &waits->buckets[bucket_of(entry->conversation_id)];

    while (*at != entry)
        at = &(*at)->next_in_bucket;
    *at = entry->next_in_bucket;
    unlink_age(waits, entry);
    waits->n--;
    json_decref(entry->json);
    mem_free(entry);
}

void model_waits_free(struct model_waits *waits)
{
    if (waits == NULL)
        return;
    while (waits->oldest != NULL)
        drop(waits, waits->oldest);
    mem_free(waits);
}

static struct entry *add(struct model_waits *waits, const char *conversation_id)
{
    struct entry **bucket = &waits->buckets[bucket_of(conversation_id)];
    struct entry *entry = NULL;

    if (waits->n == MODEL_WAITS_MAX)
        drop(waits, waits->oldest);
    entry = NEW(struct entry);
    memcpy(entry->conversation_id, conversation_id, strlen(conversation_id) + 1);
    entry->next_in_bucket = *bucket;
    *bucket = entry;
    link_newest(waits, entry);
    waits->n++;
    return entry;
}

/*
 * Most lines are pieces, which are not parsed here. Quotes inside a text are escaped, so this
 * cannot match there.
 */
static bool is_retried(const char *line)
{
    return strstr(line, "\"attempts\":") != NULL;
}

static void note_retry(struct entry *entry, const char *line)
{
    struct error err = ERROR_INIT;

    if (progress_read(line, strlen(line), &entry->json, &entry->ended, &err) < 0) {
        log_warning("progress.unreadable", LOG_ERROR(&err));
        return;
    }
    entry->due_ms = entry->heard_ms + entry->ended.retry_in_ms;
}

void model_waits_hear(struct model_waits *waits, const char *conversation_id, const char *line,
                      int64_t now_ms)
{
    struct entry *entry = NULL;

    if (strlen(conversation_id) >= UUID_TEXT_BYTES)
        return;
    entry = find(waits, conversation_id);
    if (entry == NULL)
        entry = add(waits, conversation_id);
    unlink_age(waits, entry);
    link_newest(waits, entry);
    entry->heard_ms = now_ms;
    json_decref(TAKE_PTR(entry->json));
    if (is_retried(line))
        note_retry(entry, line);
}

/* The anchor is the last event the model has seen: a later event is its answer, or restarts it. */
bool model_waits_find(const struct model_waits *waits, const char *conversation_id,
                      int64_t last_seq, int64_t now_ms, struct progress *end_out)
{
    const struct entry *entry = find(waits, conversation_id);

    if (entry == NULL || entry->json == NULL || last_seq > entry->ended.anchor_seq)
        return false;
    *end_out = entry->ended;
    end_out->retry_in_ms = entry->due_ms > now_ms ? entry->due_ms - now_ms : 0;
    return true;
}

int64_t model_waits_heard_ms(const struct model_waits *waits, const char *conversation_id)
{
    const struct entry *entry = find(waits, conversation_id);

    return entry != NULL ? entry->heard_ms : -1;
}
