/*
 * Reads what the workspace tells of its project, if the agent asks for that: once per conversation
 * and before its model's first call, and again before the next call after a client or a hook has
 * asked for it (model/prompt/knowledge_request.h); stores it (model/prompt/project_knowledge.h).
 *
 * Threading: the conversation's thread.
 * Decisions: docs/decisions/0085-what-the-workspace-tells.md, 0107-readings-on-request.md
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_PROJECT_READING_H
#define DEFT_WORKER_AGENT_SANDBOX_PROJECT_READING_H

#include "base/attr.h"

struct agent;
struct error;

/*
 * Reads and stores it if that is due, and waits for the sandbox to run first. A sandbox that does
 * not start or gives no valid answer is logged: the run goes on with what it knows, and a
 * request stays for the next run. Fails only with
 * ERROR_CANCELLED after a stop request, and with the errors of event_writer_append().
 */
int project_reading_settle(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
