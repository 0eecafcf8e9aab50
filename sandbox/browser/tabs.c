#include "sandbox/browser/tabs.h"

#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/browser/downloads.h"

enum { DIALOG_TEXT_CHARS = 300, SHOWN_CHARS = 500 /* of an address or a title */ };

const char *tab_name(const struct tab *tab)
{
    size_t len = strlen(tab->target);

    return tab->target + (len > TAB_NAME_LEN ? len - TAB_NAME_LEN : 0);
}

struct tab *tabs_find(const struct driver *driver, const char *name)
{
    struct tab *tab = driver->tabs;

    while (tab != NULL && !text_equal_nocase(tab_name(tab), name))
        tab = tab->next;
    return tab;
}

static struct tab *find_by_target(const struct driver *driver, const char *target)
{
    struct tab *tab = driver->tabs;

    while (tab != NULL && !text_equal(tab->target, target))
        tab = tab->next;
    return tab;
}

static struct tab *find_by_session(const struct driver *driver, const char *session)
{
    struct tab *tab = driver->tabs;

    while (tab != NULL && !text_equal(tab->session, session))
        tab = tab->next;
    return tab;
}

static void tab_free(struct tab *tab)
{
    mem_free(tab->url);
    mem_free(tab->title);
    mem_free(tab);
}

void tabs_clear(struct driver *driver)
{
    while (driver->tabs != NULL) {
        struct tab *tab = driver->tabs;

        driver->tabs = tab->next;
        tab_free(tab);
    }
    driver->current = NULL;
}

/* --- tabs come, change and go --- */

static void send_command(struct driver *driver, const struct tab *tab, const char *method,
                         json_t *params)
{
    cdp_send(driver->cdp,
             &(struct cdp_order){.session = tab->session, .method = method, .params = params});
}

static char *dup_short(const char *text)
{
    size_t len = strlen(text);

    return mem_dup_bytes(text, utf8_offset(text, len, SHOWN_CHARS));
}

static void take_info(struct tab *tab, const json_t *info)
{
    mem_free(tab->url);
    mem_free(tab->title);
    tab->url = dup_short(json_text_or(info, "url", ""));
    tab->title = dup_short(json_text_or(info, "title", ""));
}

static void add_tab(struct driver *driver, const char *session, const json_t *info)
{
    struct tab *tab = NEW(struct tab);
    struct tab **end = &driver->tabs;
    json_t *lifecycle = json_object();

    cdp_copy_id(tab->target, json_text_or(info, "targetId", ""));
    cdp_copy_id(tab->session, session);
    take_info(tab, info);
    while (*end != NULL)
        end = &(*end)->next;
    *end = tab;
    /* The newest tab becomes current, as in a browser window. */
    driver->current = tab;
    json_put(lifecycle, "enabled", json_true());
    send_command(driver, tab, "Page.enable", NULL);
    send_command(driver, tab, "Page.setLifecycleEventsEnabled", lifecycle);
}

static json_t *target_params(const char *target)
{
    json_t *params = json_object();

    json_put_text(params, "targetId", target);
    return params;
}

static void close_further_tab(struct driver *driver, const json_t *info)
{
    cdp_send(driver->cdp,
             &(struct cdp_order){.session = "",
                                 .method = "Target.closeTarget",
                                 .params = target_params(json_text_or(info, "targetId", ""))});
    driver_note(driver, "Another tab was closed: %d are open.", MAX_TABS);
}

/* New targets wait for a command to continue, so that none of their events is missed. */
static void on_attached(struct driver *driver, const json_t *params)
{
    const json_t *info = json_object_get(params, "targetInfo");
    const char *session = json_text_or(params, "sessionId", "");
    size_t n = 0;

    for (const struct tab *tab = driver->tabs; tab != NULL; tab = tab->next)
        n++;
    if (text_equal(json_text_or(info, "type", ""), "page") && n >= MAX_TABS)
        close_further_tab(driver, info);
    else if (text_equal(json_text_or(info, "type", ""), "page"))
        add_tab(driver, session, info);
    cdp_send(driver->cdp,
             &(struct cdp_order){.session = session, .method = "Runtime.runIfWaitingForDebugger"});
}

static void on_detached(struct driver *driver, const json_t *params)
{
    struct tab *tab = find_by_session(driver, json_text_or(params, "sessionId", ""));
    struct tab **link = &driver->tabs;

    if (tab == NULL)
        return;
    while (*link != tab)
        link = &(*link)->next;
    *link = tab->next;
    if (driver->current == tab) {
        driver->current = driver->tabs;
        while (driver->current != NULL && driver->current->next != NULL)
            driver->current = driver->current->next;
    }
    tab_free(tab);
}

static void on_info(struct driver *driver, const json_t *params)
{
    const json_t *info = json_object_get(params, "targetInfo");
    struct tab *tab = find_by_target(driver, json_text_or(info, "targetId", ""));

    if (tab != NULL)
        take_info(tab, info);
}

static void on_crashed(struct driver *driver, const json_t *params)
{
    struct tab *tab = find_by_target(driver, json_text_or(params, "targetId", ""));

    if (tab != NULL)
        tab->is_crashed = true;
}

/* --- events of a tab's page --- */

static void on_dialog(struct driver *driver, struct tab *tab, const json_t *params)
{
    const char *type = json_text_or(params, "type", "");
    const char *message = json_text_or(params, "message", "");
    size_t len = utf8_offset(message, strlen(message), DIALOG_TEXT_CHARS);
    bool is_accepted = !text_equal(type, "prompt");
    json_t *answer = json_object();

    json_put(answer, "accept", json_boolean(is_accepted));
    send_command(driver, tab, "Page.handleJavaScriptDialog", answer);
    if (text_equal(type, "beforeunload"))
        driver_note(driver, "The page asked to confirm leaving it; that was accepted.");
    else
        driver_note(driver, "The page showed a dialog (%s): \"%.*s\". It was %s.", type, (int)len,
                    message, is_accepted ? "accepted" : "dismissed");
}

static bool is_main_frame(const struct tab *tab, const json_t *params)
{
    return text_equal(json_text_or(params, "frameId", ""), tab->target);
}

static void on_loading(struct driver *driver, struct tab *tab, const json_t *params)
{
    (void)driver;
    if (is_main_frame(tab, params))
        tab->is_loading = true;
}

static void on_stopped(struct driver *driver, struct tab *tab, const json_t *params)
{
    (void)driver;
    if (is_main_frame(tab, params))
        tab->is_loading = false;
}

static void on_lifecycle(struct driver *driver, struct tab *tab, const json_t *params)
{
    (void)driver;
    if (is_main_frame(tab, params) && text_equal(json_text_or(params, "name", ""), "load"))
        cdp_copy_id(tab->loaded, json_text_or(params, "loaderId", ""));
}

/* Of the browser's and this event about a crash, either may be the first. */
static void on_page_crashed(struct driver *driver, struct tab *tab, const json_t *params)
{
    (void)driver;
    (void)params;
    tab->is_crashed = true;
}

/* Requests are paused only while storage.c has enabled it. */
static void on_paused(struct driver *driver, struct tab *tab, const json_t *params)
{
    (void)tab;
    cdp_copy_id(driver->paused_request, json_text_or(params, "requestId", ""));
}

/* --- which event is whose --- */

struct browser_event {
    const char *method;
    void (*take)(struct driver *driver, const json_t *params);
};

struct tab_event {
    const char *method;
    void (*take)(struct driver *driver, struct tab *tab, const json_t *params);
};

static const struct browser_event browser_events[] = {
    {"Target.attachedToTarget", on_attached},
    {"Target.detachedFromTarget", on_detached},
    {"Target.targetInfoChanged", on_info},
    {"Target.targetCrashed", on_crashed},
    {"Browser.downloadWillBegin", downloads_begun},
    {"Browser.downloadProgress", downloads_progressed},
};

static const struct tab_event tab_events[] = {
    {"Page.javascriptDialogOpening", on_dialog}, {"Page.frameStartedLoading", on_loading},
    {"Page.frameStoppedLoading", on_stopped},    {"Page.lifecycleEvent", on_lifecycle},
    {"Fetch.requestPaused", on_paused},          {"Inspector.targetCrashed", on_page_crashed},
};

void tabs_take_event(void *owner, const char *method, const char *session, const json_t *params)
{
    struct driver *driver = owner;
    struct tab *tab = find_by_session(driver, session);

    for (size_t i = 0; i < ARRAY_SIZE(browser_events); i++) {
        if (session[0] == '\0' && text_equal(browser_events[i].method, method))
            browser_events[i].take(driver, params);
    }
    for (size_t i = 0; i < ARRAY_SIZE(tab_events); i++) {
        if (tab != NULL && text_equal(tab_events[i].method, method))
            tab_events[i].take(driver, tab, params);
    }
}

/* --- operations of calls --- */

int tabs_open(struct driver *driver, const char *url, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();
    const char *target = NULL;

    json_put_text(params, "url", url);
    if (driver_ask(driver, "Target.createTarget", params, &result, err) < 0)
        return -1;
    target = json_text_or(result, "targetId", "");
    while (find_by_target(driver, target) == NULL) {
        if (cdp_listen(driver->cdp, driver_page_deadline(driver), err) < 0)
            return -1;
    }
    driver->current = find_by_target(driver, target);
    return 0;
}

int tabs_close(struct driver *driver, const struct tab *tab, struct error *err)
{
    json_auto_t *result = NULL;
    char target[CDP_ID_BYTES] = "";

    cdp_copy_id(target, tab->target);
    if (driver_ask(driver, "Target.closeTarget", target_params(target), &result, err) < 0)
        return -1;
    while (find_by_target(driver, target) != NULL) {
        if (cdp_listen(driver->cdp, driver_page_deadline(driver), err) < 0)
            return -1;
    }
    return 0;
}

int tabs_refresh(struct driver *driver, struct error *err)
{
    json_auto_t *result = NULL;
    const json_t *info = NULL;
    size_t i = 0;

    if (driver_ask(driver, "Target.getTargets", NULL, &result, err) < 0)
        return -1;
    json_array_foreach (json_object_get(result, "targetInfos"), i, info) {
        struct tab *tab = find_by_target(driver, json_text_or(info, "targetId", ""));

        if (tab != NULL)
            take_info(tab, info);
    }
    return 0;
}

static json_t *list(const struct driver *driver, const char *name_key)
{
    json_t *tabs = json_array();

    for (const struct tab *tab = driver->tabs; tab != NULL; tab = tab->next) {
        json_t *item = json_object();

        if (name_key != NULL)
            json_put_text(item, name_key, tab_name(tab));
        json_put_text(item, "url", tab->url);
        json_put_text(item, "title", tab->title);
        json_push(tabs, item);
    }
    return tabs;
}

json_t *tabs_list(const struct driver *driver)
{
    return list(driver, NULL);
}

json_t *tabs_list_named(const struct driver *driver)
{
    return list(driver, "tab_id");
}
