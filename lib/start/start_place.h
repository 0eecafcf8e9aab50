/*
 * Fourth stage of a start: sets the conversation's owner, places it in a sandbox and, for a child,
 * below its parent. One function for each origin: a request, a parent, the source of a copy.
 *
 * Threading: no state.
 * Decision:  docs/decisions/0078-derived-conversations.md
 */
#ifndef DEFT_START_START_PLACE_H
#define DEFT_START_START_PLACE_H

#include "base/attr.h"

struct conversation;
struct error;
struct start_context;

/*
 * Sets owner and sandbox of a validated conversation: of its own, or the one that the caller's
 * other conversations share. Starts no sandbox. ERROR_INVALID: a sandbox's key asks for another
 * sandbox; the parent is unknown to the caller, has another working directory, or may have no more
 * children.
 */
int start_place(const struct start_context *context, struct conversation *conversation,
                struct error *err) NONNULL MUST_CHECK;
/*
 * Places a conversation made from a parent that the caller has: below it, with its owner and in its
 * sandbox. May be repeated. ERROR_INVALID: the parent may have no more children.
 */
int start_place_child(const struct start_context *context, const struct conversation *parent,
                      struct conversation *child, struct error *err) NONNULL MUST_CHECK;
/*
 * Places a copy: in the sandbox that its source shares with others, or in one of its own if the
 * source has its own. A caller with a sandbox's key always gets the source's.
 */
void start_place_copy(const struct start_context *context, const struct conversation *source,
                      struct conversation *copy) NONNULL;
/* Places a copy in a sandbox of its own in any case. */
void start_place_copy_apart(const struct conversation *source, struct conversation *copy) NONNULL;

#endif
