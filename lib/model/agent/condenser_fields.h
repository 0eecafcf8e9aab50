/*
 * Field rows of a condenser, shared by agents and users' settings.
 */
#ifndef DEFT_MODEL_AGENT_CONDENSER_FIELDS_H
#define DEFT_MODEL_AGENT_CONDENSER_FIELDS_H

#include "model/schema/object_schema.h"

#define CONDENSER_FIELDS                                                                           \
    {.name = "keep_first", .kind = FIELD_INT, .rules = FIELD_FROM_0, .fallback = "2"},             \
        {.name = "minimum_progress",                                                               \
         .kind = FIELD_NUMBER,                                                                     \
         .rules = FIELD_FROM_0,                                                                    \
         .fallback = "0.1"},                                                                       \
        {.name = "hard_context_reset_max_retries",                                                 \
         .kind = FIELD_INT,                                                                        \
         .rules = FIELD_FROM_1,                                                                    \
         .fallback = "5"},                                                                         \
        {.name = "hard_context_reset_context_scaling",                                             \
         .kind = FIELD_NUMBER,                                                                     \
         .rules = FIELD_FROM_0,                                                                    \
         .fallback = "0.8"}

#endif
