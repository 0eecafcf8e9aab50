/*
 * Reads what the workspace tells of its project, once per conversation and before its model's first
 * call, if its agent asks for that; stores it (model/prompt/project_knowledge.h).
 *
 * Threading: the conversation's thread.
 * Decision:  docs/decisions/0085-what-the-workspace-tells.md
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_PROJECT_READING_H
#define DEFT_WORKER_AGENT_SANDBOX_PROJECT_READING_H

#include "base/attr.h"

struct agent;
struct error;

/*
 * Reads and stores it if that is due, and waits for the sandbox to run first. A sandbox that does
 * not start or gives no valid answer is logged: the run goes on without. Fails only with
 * ERROR_CANCELLED after a stop request, and with the errors of event_writer_append().
 */
int project_reading_settle(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
