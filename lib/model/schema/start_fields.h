/*
 * Field tables of StartConversationRequest.
 */
#ifndef DEFT_MODEL_SCHEMA_START_FIELDS_H
#define DEFT_MODEL_SCHEMA_START_FIELDS_H

struct object_schema;

extern const struct object_schema start_schema;
extern const struct object_schema confirm_risky_schema;
extern const struct object_schema secret_source_schema;

#endif
