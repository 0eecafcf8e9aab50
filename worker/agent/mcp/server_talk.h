/*
 * A call of a tool at its MCP server, on a thread of its own, and the calls that run at once.
 *
 * Ownership: the conversation's thread owns the calls and their group; a running call is used by
 * its thread only.
 * Threading: server_talks_cancel() from any thread, all others from the conversation's.
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_TALK_H
#define DEFT_WORKER_AGENT_MCP_SERVER_TALK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "model/limits.h"
#include "worker/agent/mcp/server_connection.h"

struct run_control;
struct server_talk;
struct side_wait;

/* Calls that run at once. */
struct server_talks {
    struct lock lock;         /* guards all below, and is_over and report of the talks */
    struct condition changed; /* a talk has ended, or has reported */
    int wake_fd;              /* http_wake_fd() of the conversation's thread */
    bool is_cancelled;
    bool has_report; /* since server_talks_see_reports() */
    struct server_talk *items[TOOL_CONCURRENCY_MAX];
    size_t n;
};

/* What a running call reports; the newest only. */
struct talk_report {
    double done;
    double total;
    char *message;  /* NULL: none that was not taken */
    json_t *server; /* the server's configuration, whose tokens the message may repeat */
};

struct server_talk {
    struct server_talks *talks; /* NULL: it does not run */
    struct run_control *control;
    struct server_connection connection; /* a copy */
    char *tool;                          /* the server's name for it */
    json_t *arguments;
    pthread_t thread;
    bool is_over; /* the thread uses nothing any more */
    struct talk_report report;
    /* the outcome, once it is over */
    json_t *result; /* NULL: it failed */
    struct error failure;
};

void server_talks_init(struct server_talks *talks, int wake_fd) NONNULL;
void server_talks_done(struct server_talks *talks) NONNULL;
/*
 * Starts the talk, which has been filled in; without a thread to run it, it is over with its
 * failure. At most TOOL_CONCURRENCY_MAX at once.
 */
void server_talk_start(struct server_talks *talks, struct server_talk *talk) NONNULL;
/* Waits for the thread. The talk, with its outcome, leaves the group. */
void server_talk_join(struct server_talk *talk) NONNULL;
/* Whether a running talk is over: joining it does not block. */
bool server_talk_is_over(const struct server_talk *talk) NONNULL MUST_CHECK;
/* Ends all talks with ERROR_CANCELLED, once; none is to be started after it. */
void server_talks_cancel(struct server_talks *talks) NONNULL;
/* Whether one is over and not joined yet. */
bool server_talks_have_over(struct server_talks *talks) NONNULL MUST_CHECK;
void talk_report_done(struct talk_report *report);
/* Moves a running talk's report, if it has one, to *report_out, which is empty. */
void server_talk_take_report(struct server_talk *talk, struct talk_report *report_out) NONNULL;
/* Before the reports of all talks are taken: a wait ends when more come. */
void server_talks_see_reports(struct server_talks *talks) NONNULL;
/*
 * Waits until one is over, and lets side->settle() take reports in between; its request is not
 * waited for. ERROR_CANCELLED, at once, after a stop request.
 */
int server_talks_wait(struct server_talks *talks, struct run_control *control,
                      const struct side_wait *side, struct error *err) NONNULL MUST_CHECK;

#endif
