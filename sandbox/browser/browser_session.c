#include "sandbox/browser/browser_session.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "sandbox/browser/browser_spec.h"
#include "sandbox/browser/downloads.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/tabs.h"

enum {
    START_MS = 60000, /* allows for a cold disk and a busy machine */
};

void driver_drop_browser(struct driver *driver)
{
    tabs_clear(driver);
    cdp_free(driver->cdp);
    driver->cdp = NULL;
    page_frames_clear(driver);
    downloads_clear(driver);
    chromium_stop(&driver->chromium);
}

static int set_up(struct driver *driver, struct error *err)
{
    json_auto_t *version = NULL;
    json_auto_t *discovered = NULL;
    json_auto_t *attached = NULL;
    json_t *discover = json_object();
    json_t *attach = json_object();
    struct cdp_order first = {.session = "",
                              .method = "Browser.getVersion",
                              .deadline_ms = clock_monotonic_ms() + START_MS};

    if (first.deadline_ms > driver->deadline_ms)
        first.deadline_ms = driver->deadline_ms;
    json_put(discover, "discover", json_true());
    json_put(attach, "autoAttach", json_true());
    json_put(attach, "waitForDebuggerOnStart", json_true());
    json_put(attach, "flatten", json_true());
    if (cdp_call(driver->cdp, &first, &version, err) < 0 ||
        driver_ask(driver, "Target.setDiscoverTargets", discover, &discovered, err) < 0) {
        json_decref(attach);
        return -1;
    }
    return driver_ask(driver, "Target.setAutoAttach", attach, &attached, err);
}

static int start_browser(struct driver *driver, struct error *err)
{
    struct cdp_ends ends = {.stop_fd = driver->order_fd};
    const struct cdp_listener listener = {driver, tabs_take_event};

    if (chromium_start(&driver->chromium, driver->spec->program, driver->spec->workspace, err) < 0)
        return -1;
    ends.to_fd = driver->chromium.to_fd;
    ends.from_fd = driver->chromium.from_fd;
    driver->cdp = cdp_new(&ends, &listener);
    if (set_up(driver, err) < 0)
        return error_wrap(err, "starting the browser");
    /* Chromium opens one by itself; its attachment may be reported after the answers above. */
    while (driver->tabs == NULL) {
        if (cdp_listen(driver->cdp, driver_page_deadline(driver), err) < 0)
            return error_wrap(err, "starting the browser");
    }
    return 0;
}

int driver_need_tab(struct driver *driver, struct error *err)
{
    if (driver->cdp == NULL && start_browser(driver, err) < 0)
        return -1;
    if (downloads_set_up(driver, err) < 0)
        return -1;
    if (driver->current != NULL && driver->current->is_crashed) {
        driver_note(driver, "The page crashed and its tab was closed.");
        if (tabs_close(driver, driver->current, err) < 0)
            return -1;
    }
    if (driver->current == NULL)
        return tabs_open(driver, "about:blank", err);
    return 0;
}
