/*
 * The members of an agent, of its language model and of what it goes with, as tables.
 */
#ifndef DEFT_MODEL_AGENT_AGENT_FIELDS_H
#define DEFT_MODEL_AGENT_AGENT_FIELDS_H

struct shape;

extern const struct shape llm_shape;
extern const struct shape agent_shape;
extern const struct shape agent_context_shape;
extern const struct shape summarizing_condenser_shape;
extern const struct shape tool_spec_shape;

#endif
