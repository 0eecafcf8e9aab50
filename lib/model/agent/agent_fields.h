/*
 * Field tables of an agent, its language model, context, condenser and tools.
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
