#include "sandbox/browser/recovery.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/browser/browser_session.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/tabs.h"

enum { BROWSER_ANSWER_MS = 10000, PAGE_ANSWER_MS = 3000 };

/* Runs an expression on the page's main thread. */
static int ping_page(struct driver *driver, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "expression", "1");
    driver->deadline_ms = clock_monotonic_ms() + PAGE_ANSWER_MS;
    return driver_ask_tab(driver, "Runtime.evaluate", params, &result, err);
}

static int ping_browser(struct driver *driver, struct error *err)
{
    json_auto_t *result = NULL;

    driver->deadline_ms = clock_monotonic_ms() + BROWSER_ANSWER_MS;
    return driver_ask(driver, "Browser.getVersion", NULL, &result, err);
}

int recovery_stop_script(struct driver *driver, struct error *err)
{
    if (driver_tell_tab(driver, "Runtime.terminateExecution", NULL, err) < 0)
        return -1;
    return ping_page(driver, err);
}

/* Ends the process of a page that cannot be stopped otherwise, and closes its tab. */
static int replace_tab(struct driver *driver, struct error *err)
{
    if (driver->current == NULL)
        return 0;
    if (!driver->current->is_crashed && driver_tell_tab(driver, "Page.crash", NULL, err) < 0)
        return -1;
    driver->deadline_ms = clock_monotonic_ms() + BROWSER_ANSWER_MS;
    return tabs_close(driver, driver->current, err);
}

static void restart(struct driver *driver, struct strbuf *text, const char *why)
{
    driver_drop_browser(driver);
    driver->n_timeouts = 0;
    strbuf_append(text, why);
}

static void settle_timeout(struct driver *driver, struct strbuf *text)
{
    struct error err = ERROR_INIT;

    strbuf_append(text, "The call was cut off: the page did not answer in time. ");
    if (++driver->n_timeouts >= MAX_TIMEOUTS) {
        restart(driver, text,
                "Several calls in a row took too long, so the browser was restarted: its tabs are "
                "lost.");
        return;
    }
    if (driver->tabs == NULL || ping_browser(driver, &err) < 0) {
        restart(driver, text, "The browser was restarted: its tabs are lost.");
        return;
    }
    if (recovery_stop_script(driver, &err) == 0) {
        strbuf_append(text, "Its script was stopped; the page is still open.");
        return;
    }
    if (replace_tab(driver, &err) < 0)
        restart(driver, text, "The browser was restarted: its tabs are lost.");
    else
        strbuf_append(text, "The page hung and its tab was closed.");
}

static void settle_lost_tab(struct driver *driver, struct strbuf *text)
{
    struct error err = ERROR_INIT;

    if (driver->current == NULL || !driver->current->is_crashed) {
        strbuf_append(text, "The tab was closed while the call was in progress.");
        return;
    }
    strbuf_append(text, "The page crashed while the call was in progress; its tab was closed.");
    driver->deadline_ms = clock_monotonic_ms() + BROWSER_ANSWER_MS;
    if (tabs_close(driver, driver->current, &err) < 0)
        driver_drop_browser(driver);
}

void recovery_settle(struct driver *driver, const struct error *failure, struct strbuf *text)
{
    struct error ignored = ERROR_INIT;

    strbuf_reset(text);
    switch (failure->code) {
    case ERROR_TIMEOUT:
        settle_timeout(driver, text);
        return;
    case ERROR_NOT_FOUND:
        settle_lost_tab(driver, text);
        return;
    case ERROR_UNAVAILABLE:
        driver_drop_browser(driver);
        strbuf_appendf(text,
                       "The browser failed (%s). The next call restarts it; its tabs are lost.",
                       failure->message);
        return;
    case ERROR_CANCELLED:
        strbuf_append(text, "The call was interrupted.");
        if (driver->cdp != NULL)
            error_ignore(driver_tell_tab(driver, "Page.stopLoading", NULL, &ignored),
                         "there may be no tab");
        return;
    case ERROR_NONE:
    case ERROR_INVALID:
    case ERROR_UNAUTHENTICATED:
    case ERROR_FORBIDDEN:
    case ERROR_CONFLICT:
    case ERROR_STALE:
    case ERROR_TOO_LARGE:
    case ERROR_RATE_LIMITED:
    case ERROR_UNSUPPORTED:
    case ERROR_MEDIA_TYPE:
    case ERROR_SLOW_CLIENT:
    case ERROR_INTERNAL:
    case ERROR_N_CODES:
        break;
    }
    strbuf_append(text, failure->message);
}
