/*
 * Tools that delegate work to other conversations: their argument schemas.
 */
#ifndef DEFT_MODEL_TOOLS_CHILD_TOOLS_H
#define DEFT_MODEL_TOOLS_CHILD_TOOLS_H

#include "model/schema/object_schema.h"

extern const struct object_schema child_start_schema;
extern const struct object_schema child_task_schema;
extern const struct object_schema child_delegate_schema;

#endif
