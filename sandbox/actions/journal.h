/*
 * What became of each action, on disk: an append-only file of lines "crc32 JSON", so that an action
 * that was started is never started again, whatever happens to this process. Its start is synced
 * before it runs; a result is kept until it is acknowledged, and longer while there is room.
 *
 * Without a writable directory all is kept in memory.
 * Ownership: struct journal owns its entries; what journal_find() returns lives until the next
 * call that changes the journal.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_ACTIONS_JOURNAL_H
#define DEFT_SANDBOX_ACTIONS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "sandbox/core/limits.h"

struct error;
struct journal;
struct strbuf;

enum journal_state { JOURNAL_STARTED, JOURNAL_FINISHED };

struct journal_entry {
    char id[MAX_ACTION_ID_BYTES];
    struct uuid conversation;
    int64_t fence;
    char hash[ACTION_HASH_BYTES]; /* of tool and arguments */
    enum journal_state state;
    bool acknowledged;
    int64_t offset; /* of the line with the result; -1: in memory */
    size_t line_len;
    char *line;
    struct journal_entry *next;
};

/*
 * Opens the journal of a directory; actions that were started in an earlier life become finished
 * with `interrupted_body` as result. A torn end is cut off. Falls back to memory with a warning.
 */
struct journal *journal_open(const char *dir, const char *interrupted_body) NONNULL MUST_CHECK;
void journal_close(struct journal *journal);

/* NULL when the action is unknown. */
const struct journal_entry *journal_find(const struct journal *journal,
                                         const char *id) NONNULL MUST_CHECK;
/* Stores the start of a new action; on disk when this returns. entry: id, conversation, fence,
 * hash. */
int journal_start(struct journal *journal, const struct journal_entry *entry,
                  struct error *err) NONNULL MUST_CHECK;
/* Keeps the result of a started action: the JSON text of the reply's body. */
void journal_finish(struct journal *journal, const char *id, const char *body) NONNULL;
/* Appends the kept result of a finished action. */
int journal_read_result(struct journal *journal, const struct journal_entry *entry,
                        struct strbuf *body, struct error *err) NONNULL MUST_CHECK;
/* The result may go when room is needed; an unknown id is fine. */
void journal_acknowledge(struct journal *journal, const char *id) NONNULL;
/* Forgets all finished actions of a conversation, and its fence. */
void journal_forget(struct journal *journal, const struct uuid *conversation) NONNULL;

/* The newest fence seen of a conversation, -1 when none was. */
int64_t journal_fence(const struct journal *journal,
                      const struct uuid *conversation) NONNULL MUST_CHECK;
/* Keeps a newer fence. */
void journal_raise_fence(struct journal *journal, const struct uuid *conversation,
                         int64_t fence) NONNULL;

#endif
