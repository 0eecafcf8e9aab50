#include "sandbox/browser/storage.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/script.h"
#include "sandbox/browser/tabs.h"

enum { MAX_ORIGINS = 16 };

static const char *const cookie_members[] = {"name",    "value",    "domain", "path",
                                             "expires", "httpOnly", "secure", "sameSite"};

/* The members that both formats share. */
static json_t *copy_cookie(const json_t *cookie)
{
    json_t *copy = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(cookie_members); i++)
        json_put(copy, cookie_members[i], json_incref(json_object_get(cookie, cookie_members[i])));
    return copy;
}

static json_t *copy_cookies(const json_t *cookies)
{
    json_t *copies = json_array();
    const json_t *cookie = NULL;
    size_t i = 0;

    json_array_foreach (cookies, i, cookie)
        json_push(copies, copy_cookie(cookie));
    return copies;
}

/* --- reading --- */

static void add_origin(json_t *origins, json_t *told)
{
    const char *name = json_text_or(told, "origin", "");
    const json_t *known = NULL;
    size_t i = 0;

    if (!text_starts_with(name, "http") ||
        json_array_size(json_object_get(told, "localStorage")) == 0)
        return;
    json_array_foreach (origins, i, known) {
        if (text_equal(json_text_or(known, "origin", ""), name))
            return;
    }
    json_push(origins, json_incref(told));
}

static int read_origins(struct driver *driver, json_t *origins, struct error *err)
{
    if (page_frames_read(driver, err) < 0)
        return -1;
    /* The worlds are new: the element numbers of the last state are invalid. */
    driver->indexed_target[0] = '\0';
    for (size_t i = 0; i < driver->n_frames; i++) {
        json_auto_t *told = NULL;

        if (frame_call(driver, &driver->frames[i], SCRIPT_STORAGE, "", &told, err) == 0)
            add_origin(origins, told);
        else if (err->code != ERROR_INVALID)
            return -1;
    }
    return 0;
}

int storage_get(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err)
{
    json_auto_t *result = NULL;
    json_auto_t *state = json_object();
    json_t *origins = json_array();

    (void)args;
    json_put(state, "cookies", json_array());
    json_put(state, "origins", origins);
    if (driver_ask(driver, "Storage.getCookies", NULL, &result, err) < 0 ||
        read_origins(driver, origins, err) < 0)
        return -1;
    json_put(state, "cookies", copy_cookies(json_object_get(result, "cookies")));
    json_append_text(&reply->text, state);
    return 0;
}

/* --- writing --- */

static int set_cookies(struct driver *driver, const json_t *cookies, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = NULL;

    if (json_array_size(cookies) == 0)
        return 0;
    params = json_object();
    json_put(params, "cookies", copy_cookies(cookies));
    if (driver_ask(driver, "Storage.setCookies", params, &result, err) == 0)
        return 0;
    return err->code == ERROR_INVALID ? error_wrap(err, "The browser rejected the cookies") : -1;
}

/* Answers the tab's request with an empty page, so that the origin's server is not contacted. */
static int fulfill(struct driver *driver, const char *request, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();
    json_t *headers = json_array();
    json_t *type = json_object();

    json_put_text(type, "name", "Content-Type");
    json_put_text(type, "value", "text/html");
    json_push(headers, type);
    json_put_text(params, "requestId", request);
    json_put(params, "responseCode", json_integer(200));
    json_put(params, "responseHeaders", headers);
    return driver_ask_tab(driver, "Fetch.fulfillRequest", params, &result, err);
}

static int go_to_empty_page(struct driver *driver, const char *origin, struct error *err)
{
    json_auto_t *enabled = NULL;
    json_t *params = json_object();
    int64_t deadline_ms = driver_page_deadline(driver);

    if (driver_ask_tab(driver, "Fetch.enable", NULL, &enabled, err) < 0) {
        json_decref(params);
        return -1;
    }
    json_put_text(params, "url", origin);
    driver->paused_request[0] = '\0';
    if (driver_tell_tab(driver, "Page.navigate", params, err) < 0)
        return -1;
    while (driver->paused_request[0] == '\0') {
        if (cdp_listen(driver->cdp, deadline_ms, err) < 0)
            return -1;
    }
    if (driver->current == NULL)
        return error_set(err, ERROR_NOT_FOUND, "The page closed its tab.");
    driver->current->is_loading = true;
    if (fulfill(driver, driver->paused_request, err) < 0)
        return -1;
    return navigate_settle(driver, err);
}

static int store(struct driver *driver, const json_t *entries, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
    json_auto_t *done = NULL;
    struct page_frame page = {.url = NULL};

    json_append_text(&list, entries);
    if (page_frames_open_main(driver, &page, err) < 0)
        return -1;
    return frame_call(driver, &page, SCRIPT_STORE, list.text, &done, err);
}

static int set_origin(struct driver *driver, const json_t *origin, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    const json_t *entries = json_object_get(origin, "localStorage");
    char before[CDP_ID_BYTES];
    struct tab *tab = NULL;

    if (!json_is_array(entries) ||
        navigate_read_url(json_text_or(origin, "origin", ""), &url, err) < 0)
        return error_set(err, ERROR_INVALID,
                         "Each of storage_state.origins needs an origin and a localStorage list.");
    if (driver->current == NULL)
        return error_set(err, ERROR_NOT_FOUND, "There is no open tab. Navigate somewhere first.");
    memcpy(before, driver->current->session, sizeof(before));
    if (tabs_open(driver, "about:blank", err) < 0 || go_to_empty_page(driver, url.text, err) < 0 ||
        store(driver, entries, err) < 0 || tabs_close(driver, driver->current, err) < 0)
        return -1;
    for (tab = driver->tabs; tab != NULL; tab = tab->next) {
        if (text_equal(tab->session, before))
            driver->current = tab;
    }
    return 0;
}

int storage_set(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err)
{
    const json_t *state = json_object_get(args, "storage_state");
    const json_t *cookies = json_object_get(state, "cookies");
    const json_t *origins = json_object_get(state, "origins");
    const json_t *origin = NULL;
    size_t i = 0;

    if (json_array_size(origins) > MAX_ORIGINS)
        return error_set(err, ERROR_INVALID, "storage_state has more than %d origins.",
                         MAX_ORIGINS);
    if (set_cookies(driver, cookies, err) < 0)
        return -1;
    json_array_foreach (origins, i, origin) {
        if (set_origin(driver, origin, err) < 0)
            return -1;
    }
    strbuf_appendf(&reply->text, "Storage set: %zu cookies, local storage of %zu origins.",
                   json_array_size(cookies), json_array_size(origins));
    return 0;
}
