/*
 * Field tables of StartConversationRequest.
 */
#ifndef DEFT_MODEL_SCHEMA_START_FIELDS_H
#define DEFT_MODEL_SCHEMA_START_FIELDS_H

struct shape;

extern const struct shape start_shape;
extern const struct shape confirm_risky_shape;
extern const struct shape secret_source_shape;

#endif
