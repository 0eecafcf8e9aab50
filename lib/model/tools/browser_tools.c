#include "model/tools/browser_tools.h"

#include "base/attr.h"

static const struct field navigate_fields[] = {
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "new_tab", .kind = FIELD_BOOL, .fallback = "false"},
};
const struct object_schema browser_navigate_schema = CLOSED_SCHEMA(navigate_fields);

static const struct field click_fields[] = {
    {.name = "index", .kind = FIELD_INT, .rules = FIELD_REQUIRED | FIELD_FROM_0},
    {.name = "new_tab", .kind = FIELD_BOOL, .fallback = "false"},
};
const struct object_schema browser_click_schema = CLOSED_SCHEMA(click_fields);

static const struct field type_fields[] = {
    {.name = "index", .kind = FIELD_INT, .rules = FIELD_REQUIRED | FIELD_FROM_0},
    {.name = "text", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
const struct object_schema browser_type_schema = CLOSED_SCHEMA(type_fields);

static const struct field get_state_fields[] = {
    {.name = "include_screenshot", .kind = FIELD_BOOL, .fallback = "false"},
};
const struct object_schema browser_get_state_schema = CLOSED_SCHEMA(get_state_fields);

static const struct field get_content_fields[] = {
    {.name = "extract_links", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "start_from_char", .kind = FIELD_INT, .rules = FIELD_FROM_0, .fallback = "0"},
};
const struct object_schema browser_get_content_schema = CLOSED_SCHEMA(get_content_fields);

static const struct field scroll_fields[] = {
    {.name = "direction", .kind = FIELD_TEXT, .fallback = "\"down\"", .words = "up|down"},
};
const struct object_schema browser_scroll_schema = CLOSED_SCHEMA(scroll_fields);

static const struct field tab_fields[] = {
    {.name = "tab_id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
const struct object_schema browser_tab_schema = CLOSED_SCHEMA(tab_fields);

static const struct field set_storage_fields[] = {
    {.name = "storage_state", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
};
const struct object_schema browser_set_storage_schema = CLOSED_SCHEMA(set_storage_fields);

const struct object_schema browser_nothing_schema = {NULL, 0, true};
