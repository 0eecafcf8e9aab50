#include "sandbox/actions/journal.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/actions/journal_file.h"

enum { SLACK_BYTES = 4 * 1024 * 1024 };

struct journal_conversation {
    struct uuid id;
    int64_t fence;
    struct journal_conversation *next;
};

struct journal {
    struct journal_file file;
    struct journal_entry *first; /* oldest */
    struct journal_entry **end;
    size_t n;
    size_t kept_bytes; /* of lines with results */
    struct journal_conversation *conversations;
};

static struct journal_entry *find_entry(const struct journal *journal, const char *id)
{
    struct journal_entry *entry = journal->first;

    while (entry != NULL && !text_equal(entry->id, id))
        entry = entry->next;
    return entry;
}

const struct journal_entry *journal_find(const struct journal *journal, const char *id)
{
    return find_entry(journal, id);
}

static struct journal_conversation *find_conversation(const struct journal *journal,
                                                      const struct uuid *id)
{
    struct journal_conversation *conversation = journal->conversations;

    while (conversation != NULL && !text_equal(conversation->id.text, id->text))
        conversation = conversation->next;
    return conversation;
}

int64_t journal_fence(const struct journal *journal, const struct uuid *conversation)
{
    const struct journal_conversation *found = find_conversation(journal, conversation);

    return found != NULL ? found->fence : -1;
}

static void keep_fence(struct journal *journal, const struct uuid *id, int64_t fence)
{
    struct journal_conversation *conversation = find_conversation(journal, id);

    if (conversation == NULL) {
        conversation = NEW(struct journal_conversation);
        conversation->id = *id;
        conversation->fence = -1;
        conversation->next = journal->conversations;
        journal->conversations = conversation;
    }
    if (fence > conversation->fence)
        conversation->fence = fence;
}

static struct journal_entry *add_entry(struct journal *journal, const struct journal_entry *entry)
{
    struct journal_entry *kept = NEW(struct journal_entry);

    *kept = *entry;
    kept->state = JOURNAL_STARTED;
    kept->acknowledged = false;
    kept->offset = -1;
    kept->line = NULL;
    kept->line_len = 0;
    kept->next = NULL;
    *journal->end = kept;
    journal->end = &kept->next;
    journal->n++;
    return kept;
}

static void remove_entry(struct journal *journal, struct journal_entry **link)
{
    struct journal_entry *entry = *link;

    *link = entry->next;
    if (journal->end == &entry->next)
        journal->end = link;
    journal->n--;
    journal->kept_bytes -= entry->line_len;
    mem_free(entry->line);
    mem_free(entry);
}

static void set_result(struct journal *journal, struct journal_entry *entry, int64_t offset,
                       size_t len)
{
    journal->kept_bytes -= entry->line_len;
    mem_freep(&entry->line);
    entry->state = JOURNAL_FINISHED;
    entry->offset = offset;
    entry->line_len = len;
    journal->kept_bytes += len;
}

static void remove_conversation(struct journal *journal, const struct uuid *id)
{
    struct journal_conversation **place = &journal->conversations;
    struct journal_entry **link = &journal->first;

    while (*link != NULL) {
        if ((*link)->state == JOURNAL_FINISHED && text_equal((*link)->conversation.text, id->text))
            remove_entry(journal, link);
        else
            link = &(*link)->next;
    }
    while (*place != NULL && !text_equal((*place)->id.text, id->text))
        place = &(*place)->next;
    if (*place != NULL) {
        struct journal_conversation *conversation = *place;

        *place = conversation->next;
        mem_free(conversation);
    }
}

/* --- records: one JSON object per change --- */

static json_t *start_record(const struct journal_entry *entry)
{
    json_t *record = json_object();

    json_put_text(record, "record", "start");
    json_put_text(record, "id", entry->id);
    json_put_text(record, "conversation", entry->conversation.text);
    json_put(record, "fence", json_integer(entry->fence));
    json_put_text(record, "hash", entry->hash);
    return record;
}

static json_t *named_record(const char *name, const char *id)
{
    json_t *record = json_object();

    json_put_text(record, "record", name);
    json_put_text(record, "id", id);
    return record;
}

static void replay_start(struct journal *journal, const json_t *record)
{
    struct journal_entry entry = {.fence = json_int_or(record, "fence", 0)};
    const char *id = json_text_or(record, "id", "");
    const char *hash = json_text_or(record, "hash", "");

    if (strlen(id) >= sizeof(entry.id) || strlen(hash) >= sizeof(entry.hash) ||
        !uuid_parse(json_text_or(record, "conversation", ""), &entry.conversation))
        return;
    memcpy(entry.id, id, strlen(id));
    memcpy(entry.hash, hash, strlen(hash));
    if (find_entry(journal, id) == NULL)
        (void)add_entry(journal, &entry);
    keep_fence(journal, &entry.conversation, entry.fence);
}

static void replay(void *owner, json_t *record, int64_t offset, size_t len)
{
    struct journal *journal = owner;
    const char *name = json_text_or(record, "record", "");
    struct journal_entry *entry = find_entry(journal, json_text_or(record, "id", ""));
    struct uuid conversation = UUID_INIT;

    if (text_equal(name, "start"))
        replay_start(journal, record);
    else if (text_equal(name, "finish") && entry != NULL)
        set_result(journal, entry, offset, len);
    else if (text_equal(name, "acknowledge") && entry != NULL)
        entry->acknowledged = true;
    else if (text_equal(name, "forget") &&
             uuid_parse(json_text_or(record, "id", ""), &conversation))
        remove_conversation(journal, &conversation);
    else if (text_equal(name, "fence") && uuid_parse(json_text_or(record, "id", ""), &conversation))
        keep_fence(journal, &conversation, json_int_or(record, "fence", 0));
}

/* Writes a record, unless the journal is in memory. Only journal_start() fails on an error. */
static int write_record(struct journal *journal, const json_t *record, enum journal_sync sync,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    if (journal->file.fd < 0)
        return 0;
    journal_line_append(&line, record);
    return journal_file_append(&journal->file, &line, sync, err);
}

static void note_record(struct journal *journal, json_t *record)
{
    struct error err = ERROR_INIT;

    if (write_record(journal, record, JOURNAL_NO_SYNC, &err) < 0)
        log_warning("journal.write_failed", LOG_ERROR(&err));
    json_decref(record);
}

static void append_fences(const struct journal *journal, struct strbuf *text)
{
    for (const struct journal_conversation *at = journal->conversations; at != NULL;
         at = at->next) {
        json_auto_t *record = named_record("fence", at->id.text);

        json_put(record, "fence", json_integer(at->fence));
        journal_line_append(text, record);
    }
}

static int append_entry(struct journal *journal, const struct journal_entry *entry,
                        struct strbuf *text, struct error *err)
{
    json_auto_t *start = start_record(entry);
    json_auto_t *acknowledge = named_record("acknowledge", entry->id);

    journal_line_append(text, start);
    if (entry->state == JOURNAL_FINISHED && entry->offset >= 0) {
        if (journal_file_read(&journal->file, entry->offset, entry->line_len, text, err) < 0)
            return -1;
        strbuf_append_char(text, '\n');
    } else if (entry->state == JOURNAL_FINISHED) {
        strbuf_append_bytes(text, entry->line, entry->line_len);
        strbuf_append_char(text, '\n');
    }
    if (entry->acknowledged)
        journal_line_append(text, acknowledge);
    return 0;
}

static void remove_all(struct journal *journal)
{
    while (journal->first != NULL)
        remove_entry(journal, &journal->first);
    while (journal->conversations != NULL) {
        struct journal_conversation *next = journal->conversations->next;

        mem_free(journal->conversations);
        journal->conversations = next;
    }
}

/* Rewrites the file with the current entries, then reads it again for the new offsets. */
static int compact(struct journal *journal, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *dir = mem_dup_text(journal->file.dir);
    const struct journal_reader reader = {journal, replay};

    append_fences(journal, &text);
    for (const struct journal_entry *entry = journal->first; entry != NULL; entry = entry->next) {
        if (append_entry(journal, entry, &text, err) < 0)
            return -1;
    }
    if (journal_file_replace(&journal->file, &text, err) < 0)
        return -1;
    remove_all(journal);
    journal_file_close(&journal->file);
    return journal_file_open(&journal->file, dir, &reader, err);
}

/* Acknowledged entries go first. */
static struct journal_entry **oldest_to_drop(struct journal *journal)
{
    struct journal_entry **unacknowledged = NULL;
    struct journal_entry **link = &journal->first;

    for (; *link != NULL; link = &(*link)->next) {
        if ((*link)->state != JOURNAL_FINISHED)
            continue;
        if ((*link)->acknowledged)
            return link;
        if (unacknowledged == NULL)
            unacknowledged = link;
    }
    return unacknowledged != NULL ? unacknowledged : link;
}

static void drop_old(struct journal *journal)
{
    while (journal->n > MAX_JOURNAL_ENTRIES || journal->kept_bytes > MAX_JOURNAL_BYTES) {
        struct journal_entry **link = oldest_to_drop(journal);

        if (*link == NULL || (*link)->next == NULL)
            return;
        remove_entry(journal, link);
    }
}

static void make_room(struct journal *journal)
{
    struct error err = ERROR_INIT;

    drop_old(journal);
    if (journal->file.fd < 0 ||
        journal->file.size < (int64_t)(2 * journal->kept_bytes + SLACK_BYTES))
        return;
    if (compact(journal, &err) < 0)
        log_warning("journal.compaction_failed", LOG_ERROR(&err));
}

static void interrupt_started(struct journal *journal, const char *body)
{
    for (struct journal_entry *entry = journal->first; entry != NULL; entry = entry->next) {
        if (entry->state == JOURNAL_STARTED)
            journal_finish(journal, entry->id, body);
    }
}

struct journal *journal_open(const char *dir, const char *interrupted_body)
{
    struct journal *journal = NEW(struct journal);
    const struct journal_reader reader = {journal, replay};
    struct error err = ERROR_INIT;

    journal->file.fd = -1;
    journal->end = &journal->first;
    if (journal_file_open(&journal->file, dir, &reader, &err) < 0)
        log_warning("journal.kept_in_memory", LOG_ERROR(&err));
    interrupt_started(journal, interrupted_body);
    make_room(journal);
    return journal;
}

void journal_close(struct journal *journal)
{
    if (journal == NULL)
        return;
    remove_all(journal);
    journal_file_close(&journal->file);
    mem_free(journal);
}

int journal_start(struct journal *journal, const struct journal_entry *entry, struct error *err)
{
    json_auto_t *record = start_record(entry);

    if (write_record(journal, record, JOURNAL_SYNC, err) < 0)
        return -1;
    (void)add_entry(journal, entry);
    keep_fence(journal, &entry->conversation, entry->fence);
    return 0;
}

static void keep_in_memory(struct journal *journal, struct journal_entry *entry,
                           const struct strbuf *line)
{
    set_result(journal, entry, -1, line->len - 1);
    entry->line = mem_dup_bytes(line->text, line->len - 1);
}

void journal_finish(struct journal *journal, const char *id, const char *body)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    json_auto_t *record = named_record("finish", id);
    struct journal_entry *entry = find_entry(journal, id);
    struct error err = ERROR_INIT;

    if (entry == NULL)
        return;
    json_put_text(record, "body", body);
    journal_line_append(&line, record);
    if (journal->file.fd >= 0 &&
        journal_file_append(&journal->file, &line, JOURNAL_NO_SYNC, &err) == 0) {
        set_result(journal, entry, journal->file.size - (int64_t)line.len, line.len - 1);
    } else {
        if (err.code != ERROR_NONE)
            log_warning("journal.write_failed", LOG_ERROR(&err));
        keep_in_memory(journal, entry, &line);
    }
    make_room(journal);
}

int journal_read_result(struct journal *journal, const struct journal_entry *entry,
                        struct strbuf *body, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    json_auto_t *record = NULL;

    if (entry->offset < 0)
        strbuf_append_bytes(&line, entry->line, entry->line_len);
    else if (journal_file_read(&journal->file, entry->offset, entry->line_len, &line, err) < 0)
        return -1;
    if (journal_line_parse(line.text, line.len, &record, err) < 0)
        return error_set(err, ERROR_INTERNAL, "the journal is damaged");
    strbuf_append(body, json_text_or(record, "body", "{}"));
    return 0;
}

void journal_acknowledge(struct journal *journal, const char *id)
{
    struct journal_entry *entry = find_entry(journal, id);

    if (entry == NULL || entry->state != JOURNAL_FINISHED || entry->acknowledged)
        return;
    entry->acknowledged = true;
    note_record(journal, named_record("acknowledge", id));
}

void journal_forget(struct journal *journal, const struct uuid *conversation)
{
    remove_conversation(journal, conversation);
    note_record(journal, named_record("forget", conversation->text));
    make_room(journal);
}

void journal_raise_fence(struct journal *journal, const struct uuid *conversation, int64_t fence)
{
    json_t *record = NULL;

    if (fence <= journal_fence(journal, conversation))
        return;
    keep_fence(journal, conversation, fence);
    record = named_record("fence", conversation->text);
    json_put(record, "fence", json_integer(fence));
    note_record(journal, record);
}
