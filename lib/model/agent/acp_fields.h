/*
 * Field rows for agents of other programs (agent_kind acp), shared by settings and profiles.
 */
#ifndef DEFT_MODEL_AGENT_ACP_FIELDS_H
#define DEFT_MODEL_AGENT_ACP_FIELDS_H

#include "model/schema/object_schema.h"

#define ACP_FIELDS                                                                                 \
    {.name = "acp_server",                                                                         \
     .kind = FIELD_TEXT,                                                                           \
     .fallback = "\"claude-code\"",                                                                \
     .words = "claude-code|codex|gemini-cli|kimi-code|pi|opencode|custom"},                        \
        {.name = "acp_model", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},                        \
        {.name = "acp_session_mode", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},                 \
        {.name = "acp_prompt_timeout",                                                             \
         .kind = FIELD_NUMBER,                                                                     \
         .rules = FIELD_FROM_0,                                                                    \
         .fallback = "1800.0"},                                                                    \
        {.name = "acp_startup_timeout",                                                            \
         .kind = FIELD_NUMBER,                                                                     \
         .rules = FIELD_FROM_0,                                                                    \
         .fallback = "90.0"}

#endif
