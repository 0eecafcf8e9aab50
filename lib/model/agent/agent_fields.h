/*
 * Field tables of an agent, its language model, context, condenser and tools.
 */
#ifndef DEFT_MODEL_AGENT_AGENT_FIELDS_H
#define DEFT_MODEL_AGENT_AGENT_FIELDS_H

struct object_schema;

extern const struct object_schema llm_schema;
extern const struct object_schema agent_schema;
extern const struct object_schema agent_context_schema;
extern const struct object_schema summarizing_condenser_schema;
extern const struct object_schema tool_spec_schema;

#endif
