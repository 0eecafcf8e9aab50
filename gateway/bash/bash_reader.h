/*
 * A socket's position among the bash events of a sandbox, and the next frame to send from there.
 *
 * It takes the next event from those that the feed keeps or, when it is far behind, from a page
 * that is read for it alone. Nothing is queued for it.
 * Ownership: a subscriber owns its bash_reader.
 */
#ifndef DEFT_GATEWAY_BASH_BASH_READER_H
#define DEFT_GATEWAY_BASH_BASH_READER_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct bash_feeds;
struct bash_reader;
struct connection;
struct frame;
struct principal;
struct socket_request;

/* Whose sandbox to watch, and from where. */
struct bash_reader_start {
    const struct principal *principal;
    const struct socket_request *request;
};

/*
 * Joins the feed of that sandbox and wakes the connection, which is borrowed. NULL if the feed has
 * its most readers: the connection is then closed.
 */
struct bash_reader *bash_reader_join(struct bash_feeds *feeds, struct connection *connection,
                                     const struct bash_reader_start *start) NONNULL MUST_CHECK;
/* Leaves the feed and releases the reader; accepts NULL. */
void bash_reader_leave(struct bash_reader *reader);
/* Handles a client's {"command", "cwd", "timeout"}; a bad one gets an error reply. */
void bash_reader_take_command(struct bash_reader *reader, const json_t *frame) NONNULL;
/* As event_reader_next_frame() and event_reader_has_more(). */
struct frame *bash_reader_next_frame(struct bash_reader *reader) NONNULL MUST_CHECK;
bool bash_reader_has_more(const struct bash_reader *reader) NONNULL MUST_CHECK;

#endif
