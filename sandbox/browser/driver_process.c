#include "sandbox/browser/driver_process.h"

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
#include "sandbox/browser/browser_session.h"
#include "sandbox/browser/browser_spec.h"
#include "sandbox/browser/browser_tools.h"
#include "sandbox/browser/downloads.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/recovery.h"
#include "sandbox/browser/tabs.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/core/child_process.h"

enum {
    READ_BYTES = 16384,
};

/* --- one call --- */

static json_t *make_observation(struct driver *driver, struct driver_reply *reply)
{
    json_t *observation = json_object();
    json_t *content = action_observation_content(reply->text.text, reply->text.len);

    if (driver->notes.len > 0) {
        CLEANUP(strbuf_done) struct strbuf notes = STRBUF_INIT;
        json_auto_t *parts = NULL;

        strbuf_append_char(&notes, '\n');
        strbuf_append_bytes(&notes, driver->notes.text, driver->notes.len);
        parts = action_observation_content(notes.text, notes.len);
        json_push(content, json_incref(json_array_get(parts, 0)));
        strbuf_reset(&driver->notes);
    }
    json_put(observation, "content", content);
    json_put(observation, "screenshot_data", TAKE_PTR(reply->screenshot));
    json_put_text(observation, "kind", "BrowserObservation");
    return observation;
}

static void set_folder(struct driver *driver, const char *working_dir)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

    strbuf_appendf(&folder, "%s/.downloads", working_dir);
    mem_free(driver->folder);
    driver->folder = strbuf_take(&folder);
}

static int64_t call_limit_ms(const struct driver *driver)
{
    int64_t limit_ms = driver->spec->timeout_ms;

    if (driver->n_timeouts > 0 && limit_ms > DEGRADED_MS)
        limit_ms = DEGRADED_MS;
    return limit_ms;
}

static json_t *run_call(struct driver *driver, const json_t *order)
{
    struct driver_reply reply = {.text = STRBUF_INIT};
    struct error err = ERROR_INIT;
    json_t *observation = NULL;
    int rc = 0;

    set_folder(driver, json_text_or(order, "working_dir", driver->spec->workspace));
    driver->deadline_ms = clock_monotonic_ms() + call_limit_ms(driver);
    driver->n_begun = 0;
    rc = browser_tools_run(driver, order, &reply, &err);
    if (rc < 0)
        recovery_settle(driver, &err, &reply.text);
    if (rc == 0 || err.code != ERROR_TIMEOUT)
        driver->n_timeouts = 0;
    observation = make_observation(driver, &reply);
    json_put(observation, "is_error", json_boolean(rc < 0));
    strbuf_done(&reply.text);
    return observation;
}

/* --- the socket --- */

static int write_answer(const struct driver *driver, const json_t *observation)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    json_append_text(&line, observation);
    strbuf_append_char(&line, '\n');
    return fd_write_all(driver->order_fd, line.text, line.len, &ignored);
}

/* Processes browser events until the socket is readable. */
static void idle(struct driver *driver)
{
    struct error err = ERROR_INIT;

    while (driver->cdp != NULL) {
        if (cdp_listen(driver->cdp, INT64_MAX, &err) == 0)
            continue;
        if (err.code == ERROR_CANCELLED)
            return;
        driver_note(driver,
                    "The browser had ended unexpectedly and was restarted: its tabs are lost.");
        driver_drop_browser(driver);
    }
}

/* The next line from the socket; -1 when it was closed. */
static int read_line(struct driver *driver, struct lines *in, struct strbuf *line)
{
    char chunk[READ_BYTES];

    while (!lines_next(in, line)) {
        ssize_t n = 0;

        idle(driver);
        n = read(driver->order_fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        lines_add(in, chunk, (size_t)n);
    }
    return 0;
}

/* An interruption while no call runs is a line that is not an object; ignored. */
static int serve_line(struct driver *driver, const struct strbuf *line)
{
    json_auto_t *order = NULL;
    json_auto_t *observation = NULL;
    struct error err = ERROR_INIT;

    if (json_parse(line->text, line->len, &order, &err) < 0 || !json_is_object(order))
        return 0;
    observation = run_call(driver, order);
    return write_answer(driver, observation);
}

static void serve_calls(struct driver *driver)
{
    CLEANUP(lines_done) struct lines in = LINES_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    while (read_line(driver, &in, &line) == 0) {
        if (serve_line(driver, &line) < 0)
            return;
    }
}

void driver_run(const struct browser_spec *spec, int order_fd)
{
    struct driver driver = {
        .spec = spec, .order_fd = order_fd, .chromium = CHROMIUM_INIT, .notes = STRBUF_INIT};

    (void)signal(SIGPIPE, SIG_IGN);
    serve_calls(&driver);
    driver_drop_browser(&driver);
    chromium_done(&driver.chromium);
    strbuf_done(&driver.notes);
    mem_free(driver.folder);
}
