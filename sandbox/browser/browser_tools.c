#include "sandbox/browser/browser_tools.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/browser_session.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/input.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/page_content.h"
#include "sandbox/browser/page_state.h"
#include "sandbox/browser/storage.h"
#include "sandbox/browser/tabs.h"

typedef int tool_function(struct driver *driver, const json_t *args, struct driver_reply *reply,
                          struct error *err);

static int list_tabs(struct driver *driver, const json_t *args, struct driver_reply *reply,
                     struct error *err)
{
    json_auto_t *tabs = NULL;

    (void)args;
    if (tabs_refresh(driver, err) < 0)
        return -1;
    tabs = tabs_list_named(driver);
    json_append_text(&reply->text, tabs);
    return 0;
}

static int find_tab(struct driver *driver, const json_t *args, struct tab **tab_out,
                    struct error *err)
{
    const char *name = json_text_or(args, "tab_id", "");

    *tab_out = tabs_find(driver, name);
    if (*tab_out == NULL)
        return error_set(err, ERROR_INVALID,
                         "There is no tab %s. browser_list_tabs lists the open tabs.", name);
    return 0;
}

static int switch_tab(struct driver *driver, const json_t *args, struct driver_reply *reply,
                      struct error *err)
{
    json_auto_t *result = NULL;
    struct tab *tab = NULL;

    if (find_tab(driver, args, &tab, err) < 0)
        return -1;
    driver->current = tab;
    if (driver_ask_tab(driver, "Page.bringToFront", NULL, &result, err) < 0)
        return -1;
    strbuf_appendf(&reply->text, "Switched to tab %s: %s", tab_name(tab), tab->url);
    return 0;
}

static int close_tab(struct driver *driver, const json_t *args, struct driver_reply *reply,
                     struct error *err)
{
    struct tab *tab = NULL;

    if (find_tab(driver, args, &tab, err) < 0)
        return -1;
    strbuf_appendf(&reply->text, "Closed tab %s: %s", tab_name(tab), tab->url);
    if (tabs_close(driver, tab, err) < 0 || driver_need_tab(driver, err) < 0)
        return -1;
    strbuf_appendf(&reply->text, "\nThe current tab is %s: %s", tab_name(driver->current),
                   driver->current->url);
    return 0;
}

struct tool_row {
    const char *name;
    tool_function *run;
};

static const struct tool_row rows[] = {
    {"browser_navigate", navigate_to},
    {"browser_click", input_click},
    {"browser_type", input_type},
    {"browser_get_state", page_state_get},
    {"browser_get_content", page_content_get},
    {"browser_scroll", input_scroll},
    {"browser_go_back", navigate_back},
    {"browser_list_tabs", list_tabs},
    {"browser_switch_tab", switch_tab},
    {"browser_close_tab", close_tab},
    {"browser_get_storage", storage_get},
    {"browser_set_storage", storage_set},
};

static const struct tool_row *find_row(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (text_equal(rows[i].name, name))
            return &rows[i];
    }
    return NULL;
}

bool browser_tools_know(const char *name)
{
    return find_row(name) != NULL;
}

int browser_tools_run(struct driver *driver, const json_t *order, struct driver_reply *reply,
                      struct error *err)
{
    const char *name = json_text_or(order, "tool", "");
    const struct tool_row *row = find_row(name);

    if (row == NULL)
        return error_set(err, ERROR_INVALID, "There is no browser tool %s.", name);
    if (driver_need_tab(driver, err) < 0)
        return -1;
    return row->run(driver, json_object_get(order, "args"), reply, err);
}
