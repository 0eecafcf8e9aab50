#include "gateway/bash/bash_reader.h"

#include <stdint.h>

#include <libwebsockets.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/bash/bash_commands.h"
#include "gateway/bash/bash_feed.h"
#include "gateway/bash/bash_request.h"
#include "gateway/bash/bash_window.h"
#include "gateway/core/async_http.h"
#include "gateway/core/connection.h"
#include "gateway/core/error_frame.h"
#include "gateway/core/socket_request.h"

/* Commands of one sandbox that it has not accepted yet. */
enum { COMMANDS_MAX = 32 };

struct bash_reader {
    struct bash_feed_reader link;
    struct bash_feed *feed;
    struct async_call read;
    struct bash_window page; /* events older than the feed keeps */
    int64_t read_at_ms;      /* earliest time of the next read */
};

static void on_read(struct async_call *call, const struct http_call *answer,
                    const struct error *err)
{
    struct bash_reader *reader = lws_container_of(call, struct bash_reader, read);
    json_auto_t *page = NULL;
    struct error bad = ERROR_INIT;
    int64_t begun_ms = clock_monotonic_ms();
    int rc = bash_request_read_page(answer, err, &page, &bad);

    reader->read_at_ms = bash_feed_rest(reader->feed, begun_ms);
    /* The feed itself notices that the sandbox is gone, and wakes us when it is back. */
    if (rc < 0)
        return;
    /* The older events are gone: the client cleared them. */
    if (json_array_size(json_object_get(page, "items")) == 0)
        reader->link.at_us = reader->feed->window.from_us;
    bash_window_reset(&reader->page, reader->link.at_us);
    bash_window_fill(&reader->page, page);
    connection_wake(reader->link.connection);
}

/* The start position: after all existing events, unless the client asked for those. */
static int64_t place_of(const struct socket_request *request, const struct bash_feed *feed)
{
    struct error bad = ERROR_INIT;
    int64_t since_us = 0;

    if (request->resend == RESEND_ALL)
        return 0;
    if (request->resend == RESEND_SINCE && request->since[0] != '\0' &&
        clock_parse(request->since, &since_us, &bad) == 0)
        return since_us > 0 ? since_us - 1 : 0;
    return feed->last_us;
}

struct bash_reader *bash_reader_join(struct bash_feeds *feeds, struct connection *connection,
                                     const struct bash_reader_start *start)
{
    struct bash_feed *feed = bash_feed_get(feeds, start->principal);
    struct bash_reader *reader = NULL;

    if ((int64_t)feed->n_readers >= feeds->max_readers) {
        connection_close(connection, CONNECTION_TOO_MANY_BASH);
        return NULL;
    }
    reader = NEW(struct bash_reader);
    reader->feed = feed;
    reader->link.connection = connection;
    reader->link.at_us = place_of(start->request, feed);
    reader->read.done = on_read;
    bash_feed_join(feed, &reader->link);
    connection_wake(connection);
    return reader;
}

void bash_reader_leave(struct bash_reader *reader)
{
    if (reader == NULL)
        return;
    async_call_drop(&reader->read);
    bash_window_reset(&reader->page, 0);
    bash_feed_leave(reader->feed, &reader->link);
    mem_free(reader);
}

void bash_reader_take_command(struct bash_reader *reader, const json_t *frame)
{
    struct connection *connection = reader->link.connection;
    struct bash_feed *feed = reader->feed;
    struct bash_command *command = NULL;
    struct error err = ERROR_INIT;

    if (bash_command_read(frame, &command, &err) < 0) {
        error_frame_send(connection, "ValidationError", err.message);
        return;
    }
    command->from = connection;
    bash_commands_add(&feed->commands, command);
    if (feed->commands.n > COMMANDS_MAX)
        connection_close(connection, CONNECTION_TOO_NOISY);
    bash_feed_work(feed);
}

static void begin_read(struct bash_reader *reader)
{
    const struct bash_target target = bash_feed_target(reader->feed);
    struct error err = ERROR_INIT;

    if (async_call_is_busy(&reader->read) || !reader->feed->is_placed)
        return;
    if (clock_monotonic_ms() < reader->read_at_ms) {
        reader->link.is_resting = true;
        return;
    }
    if (bash_request_after(&target, &reader->read, reader->link.at_us, 0, &err) < 0)
        log_warning("bash_feed.read_failed", LOG_ERROR(&err));
}

struct frame *bash_reader_next_frame(struct bash_reader *reader)
{
    const struct bash_feed *feed = reader->feed;
    struct frame *frame = NULL;

    if (reader->link.at_us < 0)
        return NULL;
    if (reader->link.at_us >= feed->window.from_us) {
        bash_window_reset(&reader->page, 0);
        return bash_window_next(&feed->window, &reader->link.at_us);
    }
    frame = bash_window_next(&reader->page, &reader->link.at_us);
    if (frame == NULL)
        begin_read(reader);
    return frame;
}

/* While a page is being read, its arrival wakes the socket. */
bool bash_reader_has_more(const struct bash_reader *reader)
{
    return reader->link.at_us >= 0 && reader->link.at_us < reader->feed->last_us &&
           reader->feed->is_placed && !async_call_is_busy(&reader->read);
}
