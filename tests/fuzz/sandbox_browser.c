/*
 * Bytes that a browser sends: whatever they are, the driver's view of its tabs stays whole, what it
 * notes is bounded by what came, and every wait ends.
 */
#include <assert.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "json_setup.h"
#include "sandbox/browser/browser.h"
#include "sandbox/browser/browser_session.h"
#include "sandbox/browser/cdp.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/page_state.h"
#include "sandbox/browser/tabs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WAIT_MS = 60000 };

static int make_input(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    int fd = memfd_create("browser", MFD_CLOEXEC);

    if (fd < 0 || fd_write_all(fd, data, size, &err) < 0 || lseek(fd, 0, SEEK_SET) != 0)
        return -1;
    return fd;
}

/* A call is under way all the time, so that answers are taken, too. */
static void hear_all(struct driver *driver)
{
    struct error err = ERROR_INIT;

    while (err.code != ERROR_UNAVAILABLE) {
        json_auto_t *result = NULL;
        json_auto_t *page = json_object();
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        size_t place = 0;

        err.code = ERROR_NONE;
        if (driver_ask(driver, "Browser.getVersion", NULL, &result, &err) == 0)
            assert(page_state_append(&text, page, result) <= json_array_size(result));
        (void)!page_state_find(driver, 0, &place);
    }
}

static void check_tabs(const struct driver *driver)
{
    bool is_listed = driver->current == NULL;
    size_t n = 0;

    for (const struct tab *tab = driver->tabs; tab != NULL; tab = tab->next) {
        is_listed = is_listed || tab == driver->current;
        n++;
    }
    assert(is_listed);
    assert(n <= MAX_TABS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct browser_spec spec = {.wait_ms = WAIT_MS};
    CLEANUP(fd_close) int from = make_input(data, size);
    CLEANUP(fd_close) int to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct cdp_ends ends = {to, from, -1};
    struct driver driver = {.spec = &spec, .notes = STRBUF_INIT, .chromium = CHROMIUM_INIT};
    struct cdp_listener listener = {&driver, tabs_take_event};

    assert(from >= 0 && to >= 0);
    driver.deadline_ms = clock_monotonic_ms() + WAIT_MS;
    driver.folder = mem_dup_text("/w");
    driver.cdp = cdp_new(&ends, &listener);
    hear_all(&driver);
    check_tabs(&driver);
    driver_drop_browser(&driver);
    strbuf_done(&driver.notes);
    mem_free(driver.folder);
    return 0;
}
