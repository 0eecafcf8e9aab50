/*
 * A start whose conversation is a copy of another one, up to an event. The specification is the
 * source's, so nothing is parsed, expanded or validated; the remaining stages are those of every
 * start.
 *
 * Ownership: a fork_order's pointers are borrowed.
 * Threading: no state.
 * Decision:  docs/decisions/0078-derived-conversations.md
 */
#ifndef DEFT_START_START_FORK_H
#define DEFT_START_START_FORK_H

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct conversation;
struct error;
struct start_context;

enum fork_metrics { FORK_RESETS_METRICS, FORK_KEEPS_METRICS };

/* Files of the copy's workspace. */
enum fork_files {
    FORK_FILES_BY_SANDBOX,  /* restored if the copy gets a sandbox of its own, as its source has */
    FORK_FILES_RESTORED,    /* as at the copy's last event, in a sandbox of its own in any case */
    FORK_FILES_AS_THEY_ARE, /* those that the copy's sandbox has */
};

struct fork_order {
    struct uuid id;            /* unset: generate one */
    const char *title;         /* NULL or blank: none */
    const json_t *tags;        /* NULL: none */
    const char *from_event_id; /* the copy's last event; NULL: the whole path */
    enum fork_metrics metrics;
    enum fork_files files;
};

/* clang-format off */
#define FORK_ORDER_INIT {.id = UUID_INIT}
/* clang-format on */

/*
 * Fills *copy_out, which is as after CONVERSATION_INIT, and stores it with its events. It requests
 * no run; files are restored by the copy's first one. Errors: ERROR_NOT_FOUND when the source has
 * no such event, ERROR_CONFLICT when the id is taken or there is no checkpoint of files that are to
 * be restored, ERROR_FORBIDDEN when a sandbox's key asks for these, ERROR_INTERNAL when the
 * source's secrets cannot be opened.
 */
int start_fork(const struct start_context *context, const struct conversation *source,
               const struct fork_order *order, struct conversation *copy_out,
               struct error *err) NONNULL MUST_CHECK;

#endif
