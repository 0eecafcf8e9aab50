/*
 * Tools that delegate work to other conversations: their argument shapes and descriptions.
 */
#ifndef DEFT_MODEL_TOOLS_CHILD_TOOLS_H
#define DEFT_MODEL_TOOLS_CHILD_TOOLS_H

#include "model/schema/shape.h"

extern const struct shape child_start_shape;
extern const char child_start_text[];
extern const struct shape child_task_shape;
extern const char child_task_text[];

#endif
