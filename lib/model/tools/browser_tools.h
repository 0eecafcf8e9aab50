/*
 * The browser tools: their argument schemas and descriptions for the model. They are offered as a
 * set, if the conversation's sandbox has a browser.
 */
#ifndef DEFT_MODEL_TOOLS_BROWSER_TOOLS_H
#define DEFT_MODEL_TOOLS_BROWSER_TOOLS_H

#include "model/schema/object_schema.h"

/* Names of the set in an agent's specification: "a|b", the usual name first. */
#define BROWSER_SET_NAMES "browser_tool_set|BrowserToolSet|browser_use"

extern const struct object_schema browser_navigate_schema;
extern const struct object_schema browser_click_schema;
extern const struct object_schema browser_type_schema;
extern const struct object_schema browser_get_state_schema;
extern const struct object_schema browser_get_content_schema;
extern const struct object_schema browser_scroll_schema;
extern const struct object_schema browser_tab_schema;
extern const struct object_schema browser_set_storage_schema;
extern const struct object_schema browser_nothing_schema;

extern const char browser_navigate_text[];
extern const char browser_click_text[];
extern const char browser_type_text[];
extern const char browser_get_state_text[];
extern const char browser_get_content_text[];
extern const char browser_scroll_text[];
extern const char browser_go_back_text[];
extern const char browser_list_tabs_text[];
extern const char browser_switch_tab_text[];
extern const char browser_close_tab_text[];
extern const char browser_get_storage_text[];
extern const char browser_set_storage_text[];

/* A section of the system prompt: how to use these tools. */
extern const char browser_guidance[];

#endif
