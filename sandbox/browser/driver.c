#include "sandbox/browser/driver.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/browser/browser_spec.h"

void driver_note(struct driver *driver, const char *format, ...)
{
    va_list args;

    strbuf_append(&driver->notes, driver->notes.len > 0 ? "\n[" : "[");
    va_start(args, format);
    strbuf_vappendf(&driver->notes, format, args);
    va_end(args);
    strbuf_append_char(&driver->notes, ']');
}

int64_t driver_page_deadline(const struct driver *driver)
{
    int64_t page_ms = clock_monotonic_ms() + driver->spec->wait_ms;

    return page_ms < driver->deadline_ms ? page_ms : driver->deadline_ms;
}

int driver_ask(struct driver *driver, const char *method, json_t *params, json_t **result_out,
               struct error *err)
{
    const struct cdp_order order = {
        .session = "",
        .method = method,
        .params = params,
        .deadline_ms = driver_page_deadline(driver),
    };

    return cdp_call(driver->cdp, &order, result_out, err);
}

static int order_for_tab(const struct driver *driver, struct cdp_order *order, struct error *err)
{
    if (driver->current == NULL || driver->current->is_crashed) {
        json_decref(order->params);
        return error_set(err, ERROR_NOT_FOUND, "the tab was closed or crashed");
    }
    order->session = driver->current->session;
    order->deadline_ms = driver_page_deadline(driver);
    return 0;
}

int driver_ask_tab(struct driver *driver, const char *method, json_t *params, json_t **result_out,
                   struct error *err)
{
    struct cdp_order order = {.session = "", .method = method, .params = params};

    if (order_for_tab(driver, &order, err) < 0)
        return -1;
    return cdp_call(driver->cdp, &order, result_out, err);
}

int driver_tell_tab(struct driver *driver, const char *method, json_t *params, struct error *err)
{
    struct cdp_order order = {.session = "", .method = method, .params = params};

    if (order_for_tab(driver, &order, err) < 0)
        return -1;
    cdp_send(driver->cdp, &order);
    return 0;
}
