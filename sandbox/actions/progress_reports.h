/*
 * Progress of a conversation's running calls, and the requests that wait for news of it. Only the
 * newest report of each call is kept.
 *
 * Ownership: the tool session's; requests belong to their connections.
 * Threading: one thread.
 * Source: docs/api/action-server.md, section 3.2
 */
#ifndef DEFT_SANDBOX_ACTIONS_PROGRESS_REPORTS_H
#define DEFT_SANDBOX_ACTIONS_PROGRESS_REPORTS_H

#include <stdint.h>

#include "base/attr.h"

struct progress_reports;
struct error;
struct mcp_progress;
struct server_request;

struct progress_reports *progress_reports_new(void) MUST_CHECK;
/* Answers the requests that wait. */
void progress_reports_free(struct progress_reports *reports);
/* Takes a report of a call, and answers the requests that wait. */
void progress_reports_note(struct progress_reports *reports, const char *action_id,
                           const struct mcp_progress *report) NONNULL;
/* The call is over; does nothing for one without reports. */
void progress_reports_forget(struct progress_reports *reports, const char *action_id) NONNULL;
/*
 * Answers {"seq", "calls": {action id: {"seq", "progress", "total", "message"}}}, at the next
 * report if `after` is the present seq. ERROR_RATE_LIMITED if too many requests wait.
 */
int progress_reports_wait(struct progress_reports *reports, int64_t after,
                          struct server_request *request, struct error *err) NONNULL MUST_CHECK;

#endif
