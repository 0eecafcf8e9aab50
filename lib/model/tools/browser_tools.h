/*
 * The browser tools: their argument schemas. They are offered as a
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

#endif
