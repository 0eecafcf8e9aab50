/*
 * The bash events of one sandbox (the global scope) for all sockets that watch them.
 *
 * A running sandbox is looked up and long-polled for new events; it is started only for a client's
 * command. If it goes away, polling stops silently, and resumes with the next command or when the
 * sandbox is found running again.
 * Ownership: a feed lives as long as it has readers, or commands that its sandbox has not accepted.
 * Decision: docs/decisions/0007-gateway-asks-the-sandbox.md
 */
#ifndef DEFT_GATEWAY_BASH_BASH_FEED_H
#define DEFT_GATEWAY_BASH_BASH_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "client/runtime_api.h"
#include "gateway/bash/bash_commands.h"
#include "gateway/bash/bash_request.h"
#include "gateway/bash/bash_window.h"
#include "gateway/core/async_http.h"

struct connection;
struct secret;
struct ticker;

/* How to find and start sandboxes; borrowed from the settings. */
struct sandbox_service {
    const char *url;
    const char *socket; /* NULL: over TCP */
    const struct secret *key;
    const char *image;
};

/* All feeds, and the parts that they use. */
struct bash_feeds {
    LIST_HEAD(bash_feed_list, bash_feed) all;
    struct async_http *http; /* borrowed */
    struct ticker *ticker;   /* borrowed */
    struct sandbox_service sandboxes;
    int64_t max_readers; /* of one sandbox */
};

/* A reader as its feed sees it; bash_reader.h. */
struct bash_feed_reader {
    LIST_ENTRY(bash_feed_reader) link;
    struct connection *connection;
    int64_t at_us;   /* time of the last event sent or skipped; -1: the newest, once known */
    bool is_resting; /* its next page is due later: the tick wakes it */
};

struct bash_feed {
    LIST_ENTRY(bash_feed) link;
    const struct bash_feeds *feeds;
    struct principal principal; /* of the first socket: the sandbox's owner */
    LIST_HEAD(bash_feed_readers, bash_feed_reader) readers;
    size_t n_readers;
    struct bash_commands commands;
    struct sandbox_endpoint endpoint; /* url NULL: not known to run */
    struct async_call locate;         /* to the Runtime API: find or start the sandbox */
    struct async_call poll;           /* to the sandbox: new events */
    struct async_call post;           /* to the sandbox: a command */
    bool is_placed;                   /* last_us was reported by the sandbox */
    bool is_started;                  /* for the first command */
    bool is_doubted; /* it did not answer: the next start checks whether it is alive */
    bool is_looking; /* the start under way does that check */
    int64_t last_us; /* time of the newest event read; -1: unknown */
    int64_t polled_at_ms;
    int64_t look_at_ms; /* earliest time of the next poll or sandbox look-up */
    struct bash_window window;
};

/* Returns the feed of that caller's sandbox, new or shared; the caller joins it. */
struct bash_feed *bash_feed_get(struct bash_feeds *feeds,
                                const struct principal *principal) NONNULL MUST_CHECK;
void bash_feed_join(struct bash_feed *feed, struct bash_feed_reader *reader) NONNULL;
/* May free the feed. */
void bash_feed_leave(struct bash_feed *feed, struct bash_feed_reader *reader) NONNULL;
/* Starts all due requests that are not under way; frees the feed when it is unused. */
void bash_feed_work(struct bash_feed *feed) NONNULL;
void bash_feeds_tick(struct bash_feeds *feeds) NONNULL;
/* On process exit: drops what is under way. The readers are gone. */
void bash_feeds_done(struct bash_feeds *feeds) NONNULL;

/*
 * Returns when the sandbox may be asked for its next page, after one whose parsing began at
 * begun_ms, and schedules a tick for then: the service thread spends at most a fifth of its time on
 * a page's parsing, whatever a sandbox sends.
 */
int64_t bash_feed_rest(const struct bash_feed *feed, int64_t begun_ms) NONNULL MUST_CHECK;
/* For requests to the sandbox of a feed that is_placed. Borrows. */
struct bash_target bash_feed_target(const struct bash_feed *feed) NONNULL MUST_CHECK;

#endif
