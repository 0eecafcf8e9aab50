/*
 * The state of each action on disk: an append-only file of lines "crc32 JSON", so that a started
 * action is never started again, even after a crash. Its start is synced before it runs; its result
 * is kept until it is acknowledged, and longer while there is room.
 *
 * Without a writable directory everything is kept in memory.
 * Ownership: struct journal owns its entries; the result of journal_find() is valid until the next
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
#include "sandbox/core/action_limits.h"

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
    int64_t offset; /* of the result's line; -1: in memory */
    size_t line_len;
    char *line;
    struct journal_entry *next;
};

/*
 * Opens the journal of a directory; actions that an earlier process left unfinished become
 * finished, with `interrupted_body` as the result. A torn tail is cut off. Falls back to memory
 * with a warning.
 */
struct journal *journal_open(const char *dir, const char *interrupted_body) NONNULL MUST_CHECK;
void journal_close(struct journal *journal);

/* NULL when the action is unknown. */
const struct journal_entry *journal_find(const struct journal *journal,
                                         const char *id) NONNULL MUST_CHECK;
/* Stores the start of a new action, synced on return. entry: id, conversation, fence, hash. */
int journal_start(struct journal *journal, const struct journal_entry *entry,
                  struct error *err) NONNULL MUST_CHECK;
/* Stores the result of a started action: the JSON text of the reply's body. */
void journal_finish(struct journal *journal, const char *id, const char *body) NONNULL;
/* Appends the stored result of a finished action. */
int journal_read_result(struct journal *journal, const struct journal_entry *entry,
                        struct strbuf *body, struct error *err) NONNULL MUST_CHECK;
/* Allows the result to be dropped when room is needed; an unknown id is ignored. */
void journal_acknowledge(struct journal *journal, const char *id) NONNULL;
/* Removes all finished actions of a conversation, and its fence. */
void journal_forget(struct journal *journal, const struct uuid *conversation) NONNULL;

/* The highest fence seen for a conversation; -1 for none. */
int64_t journal_fence(const struct journal *journal,
                      const struct uuid *conversation) NONNULL MUST_CHECK;
/* Stores the fence if it is higher. */
void journal_raise_fence(struct journal *journal, const struct uuid *conversation,
                         int64_t fence) NONNULL;

#endif
