#include "sandbox/browser/navigate.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/browser_spec.h"
#include "sandbox/browser/downloads.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/recovery.h"
#include "sandbox/browser/tabs.h"

enum {
    MAX_URL_BYTES = 64 * 1024,
    MAX_CHANGED_TRIES = 3,
    /* Scripts mostly start navigations during the input or in the next event loop turns. */
    SETTLE_MS = 100,
};

/* --- addresses --- */

/* The length of "scheme" before a colon; 0 when there is none. */
static size_t scheme_length(const char *url)
{
    size_t n = 0;

    if (!isalpha((unsigned char)url[0]))
        return 0;
    while (isalnum((unsigned char)url[n]) || strchr("+-.", url[n]) != NULL) {
        if (url[n] == '\0')
            return 0;
        n++;
    }
    return url[n] == ':' ? n : 0;
}

/* host:8080 looks like a scheme too; a scheme is never followed by a port. */
static bool is_host_with_port(const char *after_colon)
{
    size_t n = strspn(after_colon, "0123456789");

    return n > 0 && n <= 5 && (after_colon[n] == '\0' || strchr("/?#", after_colon[n]) != NULL);
}

static bool is_this_machine(const char *url)
{
    return text_starts_with(url, "localhost") || text_starts_with(url, "127.") ||
           text_starts_with(url, "[::1]") || text_starts_with(url, "0.0.0.0");
}

static bool starts_with_nocase(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

int navigate_read_url(const char *url, struct strbuf *out, struct error *err)
{
    size_t scheme = 0;

    while (isspace((unsigned char)*url))
        url++;
    scheme = scheme_length(url);
    if (*url == '\0' || strlen(url) > MAX_URL_BYTES)
        return error_set(err, ERROR_INVALID, "The url is empty or too long.");
    if (scheme == 0 || is_host_with_port(url + scheme + 1)) {
        strbuf_append(out, is_this_machine(url) ? "http://" : "https://");
        strbuf_append(out, url);
        return 0;
    }
    if (!starts_with_nocase(url, "http://") && !starts_with_nocase(url, "https://") &&
        !text_equal_nocase(url, "about:blank"))
        return error_set(err, ERROR_INVALID,
                         "The browser opens http and https addresses only, not %.*s: ones.",
                         (int)(scheme < 40 ? scheme : 40), url);
    strbuf_append(out, url);
    return 0;
}

/* --- waiting --- */

static int fail_unanswered(struct driver *driver, struct error *err)
{
    struct error late = ERROR_INIT;

    error_ignore(driver_tell_tab(driver, "Page.stopLoading", NULL, &late), "the tab may be closed");
    return error_set(err, ERROR_INVALID,
                     "The address did not answer within %lld seconds; loading it was stopped.",
                     (long long)(driver->spec->wait_ms / 1000));
}

/* An error when the page hangs, has crashed or is closed. */
static int check_answers(struct driver *driver, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "expression", "1");
    return driver_ask_tab(driver, "Runtime.evaluate", params, &result, err);
}

static int look_at_slow_page(struct driver *driver, struct error *err)
{
    if (check_answers(driver, err) < 0)
        return -1;
    driver_note(driver, "The page was still loading after %lld seconds.",
                (long long)(driver->spec->wait_ms / 1000));
    return 0;
}

static int check_not_crashed(const struct driver *driver, struct error *err)
{
    if (driver->current != NULL && driver->current->is_crashed)
        return error_set(err, ERROR_NOT_FOUND, "the page crashed");
    return 0;
}

static int wait_for_load(struct driver *driver, const char *loader, struct error *err)
{
    int64_t deadline_ms = driver_page_deadline(driver);
    char session[CDP_ID_BYTES];

    memcpy(session, driver->current->session, sizeof(session));
    while (driver->current != NULL && text_equal(driver->current->session, session) &&
           !driver->current->is_crashed && !text_equal(driver->current->loaded, loader)) {
        if (cdp_listen(driver->cdp, deadline_ms, err) == 0)
            continue;
        return err->code == ERROR_TIMEOUT ? look_at_slow_page(driver, err) : -1;
    }
    return check_not_crashed(driver, err);
}

/* --- opening --- */

static int ask_to_navigate(struct driver *driver, const char *url, json_t **result_out,
                           struct error *err)
{
    json_t *params = json_object();

    json_put_text(params, "url", url);
    if (driver_ask_tab(driver, "Page.navigate", params, result_out, err) == 0)
        return 0;
    return err->code == ERROR_TIMEOUT ? fail_unanswered(driver, err) : -1;
}

/* Retries: when a network interface comes or goes the browser aborts its current fetch. */
static int navigate_patiently(struct driver *driver, const char *url, json_t **result_out,
                              struct error *err)
{
    const char *why = "";

    for (int i = 0; i < MAX_CHANGED_TRIES; i++) {
        json_auto_t *result = NULL;

        if (ask_to_navigate(driver, url, &result, err) < 0)
            return -1;
        why = json_text_or(result, "errorText", "");
        if (i + 1 < MAX_CHANGED_TRIES && text_equal(why, "net::ERR_NETWORK_CHANGED"))
            continue;
        *result_out = TAKE_PTR(result);
        return 0;
    }
    return 0;
}

int navigate_open(struct driver *driver, const char *url, struct error *err)
{
    json_auto_t *result = NULL;
    const char *why = NULL;

    if (navigate_patiently(driver, url, &result, err) < 0)
        return -1;
    if (json_bool_or(result, "isDownload", 0))
        return downloads_wait_announced(driver, err);
    why = json_text_or(result, "errorText", "");
    /* Also the answer when the page crashes, before the browser tells so. */
    if (text_equal(why, "net::ERR_ABORTED") && check_answers(driver, err) < 0)
        return -1;
    if (why[0] != '\0')
        return error_set(err, ERROR_INVALID, "The page could not be opened (%s): %s", why, url);
    /* Without a new document, e.g. after a change of the #fragment, nothing is loaded. */
    if (json_text_or(result, "loaderId", NULL) == NULL)
        return 0;
    return wait_for_load(driver, json_text_or(result, "loaderId", ""), err);
}

int navigate_open_tab(struct driver *driver, const char *url, struct error *err)
{
    if (tabs_open(driver, "about:blank", err) < 0)
        return -1;
    return navigate_open(driver, url, err);
}

int navigate_to(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    if (navigate_read_url(json_text_or(args, "url", ""), &url, err) < 0)
        return -1;
    if (json_bool_or(args, "new_tab", 0)) {
        strbuf_appendf(&reply->text, "Opened new tab with URL: %s", url.text);
        return navigate_open_tab(driver, url.text, err);
    }
    strbuf_appendf(&reply->text, "Navigated to: %s", url.text);
    return navigate_open(driver, url.text, err);
}

/* --- after an input --- */

/* Gives the page a few turns of its event loop; a page that was left before then cannot answer. */
static int give_turns(struct driver *driver, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    json_auto_t *result = NULL;
    json_t *params = json_object();

    strbuf_appendf(&script, "new Promise(done => setTimeout(done, %d))", SETTLE_MS);
    json_put_text(params, "expression", script.text);
    json_put(params, "awaitPromise", json_true());
    if (driver_ask_tab(driver, "Runtime.evaluate", params, &result, err) == 0)
        return 0;
    return err->code == ERROR_INVALID || err->code == ERROR_NOT_FOUND ? 0 : -1;
}

static int wait_while_loading(struct driver *driver, struct error *err)
{
    int64_t deadline_ms = driver_page_deadline(driver);

    while (driver->current != NULL && driver->current->is_loading && !driver->current->is_crashed) {
        if (cdp_listen(driver->cdp, deadline_ms, err) == 0)
            continue;
        return err->code == ERROR_TIMEOUT ? look_at_slow_page(driver, err) : -1;
    }
    return check_not_crashed(driver, err);
}

int navigate_settle(struct driver *driver, struct error *err)
{
    if (give_turns(driver, err) < 0 || wait_while_loading(driver, err) < 0)
        return -1;
    return downloads_wait(driver, err);
}

/* --- back --- */

static int find_entry_before(struct driver *driver, json_int_t *entry_out, struct error *err)
{
    json_auto_t *history = NULL;
    json_int_t at = 0;

    if (driver_ask_tab(driver, "Page.getNavigationHistory", NULL, &history, err) < 0)
        return -1;
    at = json_int_or(history, "currentIndex", 0);
    if (at <= 0)
        return error_set(err, ERROR_INVALID, "There is no page to go back to in this tab.");
    *entry_out =
        json_int_or(json_array_get(json_object_get(history, "entries"), (size_t)at - 1), "id", 0);
    return 0;
}

int navigate_back(struct driver *driver, const json_t *args, struct driver_reply *reply,
                  struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = NULL;
    json_int_t entry = 0;

    (void)args;
    if (find_entry_before(driver, &entry, err) < 0)
        return -1;
    params = json_object();
    json_put(params, "entryId", json_integer(entry));
    if (driver_ask_tab(driver, "Page.navigateToHistoryEntry", params, &result, err) < 0 ||
        navigate_settle(driver, err) < 0)
        return -1;
    strbuf_append(&reply->text, "Navigated back");
    return 0;
}
