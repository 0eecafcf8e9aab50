/*
 * Tools that delegate work to other conversations: their argument schemas and descriptions.
 */
#ifndef DEFT_MODEL_TOOLS_CHILD_TOOLS_H
#define DEFT_MODEL_TOOLS_CHILD_TOOLS_H

#include "model/schema/object_schema.h"

extern const struct object_schema child_start_schema;
extern const char child_start_text[];
extern const struct object_schema child_task_schema;
extern const char child_task_text[];

#endif
