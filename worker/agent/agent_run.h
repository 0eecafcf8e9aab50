/*
 * A run of one conversation, from its claim to the end of its lease.
 *
 *     agent_init(&agent, context, control, &claim);
 *     agent_run(&agent);
 *     agent_done(&agent);
 *
 * Ownership and threading: as agent.h says.
 */
#ifndef DEFT_WORKER_AGENT_AGENT_RUN_H
#define DEFT_WORKER_AGENT_AGENT_RUN_H

#include "base/attr.h"

struct agent;
struct claim;
struct run_control;
struct worker_context;

/* Takes over the claim's content. */
void agent_init(struct agent *agent, struct worker_context *context, struct run_control *control,
                struct claim *claim) NONNULL;
void agent_done(struct agent *agent);
/* Runs until the run is over, handed over, or lost; its outcome is in stored events and the log. */
void agent_run(struct agent *agent) NONNULL;

#endif
