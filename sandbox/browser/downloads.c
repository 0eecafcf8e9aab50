#include "sandbox/browser/downloads.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/driver.h"

enum { MAX_NAME_BYTES = 200, MAX_SAME_NAMES = 1000 };

/* The browser saves under an id: saving by name would overwrite an older file. */
int downloads_set_up(struct driver *driver, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "behavior", "allowAndName");
    json_put_text(params, "downloadPath", driver->folder);
    json_put(params, "eventsEnabled", json_true());
    return driver_ask(driver, "Browser.setDownloadBehavior", params, &result, err);
}

void downloads_append_name(struct strbuf *out, const char *told)
{
    const char *slash = strrchr(told, '/');
    const char *name = slash != NULL ? slash + 1 : told;
    size_t len = strnlen(name, MAX_NAME_BYTES);

    while (len > 0 && *name == '.') {
        name++;
        len--;
    }
    if (len == 0) {
        strbuf_append(out, "download");
        return;
    }
    for (size_t i = 0; i < len; i++)
        strbuf_append_char(out, iscntrl((unsigned char)name[i]) ? '_' : name[i]);
}

static struct download *find_download(struct driver *driver, const char *id)
{
    for (size_t i = 0; i < driver->n_downloads; i++) {
        if (text_equal(driver->downloads[i].id, id))
            return &driver->downloads[i];
    }
    return NULL;
}

void downloads_begun(struct driver *driver, const json_t *params)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    const char *id = json_text_or(params, "guid", "");
    struct download *download = NULL;

    if (driver->n_downloads == MAX_DOWNLOADS || find_download(driver, id) != NULL ||
        strchr(id, '/') != NULL)
        return;
    download = &driver->downloads[driver->n_downloads++];
    downloads_append_name(&name, json_text_or(params, "suggestedFilename", ""));
    cdp_copy_id(download->id, id);
    download->folder = mem_dup_text(driver->folder);
    download->name = strbuf_take(&name);
    driver->n_begun++;
}

static void forget(struct driver *driver, struct download *download)
{
    mem_free(download->folder);
    mem_free(download->name);
    *download = driver->downloads[--driver->n_downloads];
}

void downloads_clear(struct driver *driver)
{
    while (driver->n_downloads > 0)
        forget(driver, &driver->downloads[0]);
}

/* "report.txt", then "report (1).txt". */
static void append_numbered(struct strbuf *out, const struct download *download, int n)
{
    const char *dot = strrchr(download->name, '.');
    size_t stem = dot != NULL ? (size_t)(dot - download->name) : strlen(download->name);

    strbuf_appendf(out, "%s/", download->folder);
    if (n == 0)
        strbuf_append(out, download->name);
    else
        strbuf_appendf(out, "%.*s (%d)%s", (int)stem, download->name, n, download->name + stem);
}

/* link() fails instead of replacing an existing file. */
static int give_name(const struct download *download, struct strbuf *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf written = STRBUF_INIT;

    strbuf_appendf(&written, "%s/%s", download->folder, download->id);
    for (int i = 0; i < MAX_SAME_NAMES; i++) {
        strbuf_reset(path);
        append_numbered(path, download, i);
        if (link(written.text, path->text) == 0) {
            (void)unlink(written.text);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return error_set(err, ERROR_UNAVAILABLE, "%m");
}

static void note_end(struct driver *driver, const struct download *download, const json_t *params)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;

    if (!text_equal(json_text_or(params, "state", ""), "completed"))
        driver_note(driver, "The download of %s was aborted.", download->name);
    else if (give_name(download, &path, &err) < 0)
        driver_note(driver, "The download of %s could not be saved in %s: %s.", download->name,
                    download->folder, err.message);
    else
        driver_note(driver, "A file was downloaded: %s (%lld bytes).", path.text,
                    (long long)json_number_or(params, "receivedBytes", 0));
}

void downloads_progressed(struct driver *driver, const json_t *params)
{
    struct download *download = find_download(driver, json_text_or(params, "guid", ""));

    if (download == NULL || text_equal(json_text_or(params, "state", ""), "inProgress"))
        return;
    note_end(driver, download, params);
    forget(driver, download);
}

static int wait_step(struct driver *driver, int64_t deadline_ms, struct error *err)
{
    if (cdp_listen(driver->cdp, deadline_ms, err) == 0)
        return 0;
    if (err->code != ERROR_TIMEOUT)
        return -1;
    driver_note(driver, "A download into %s is still running.", driver->folder);
    driver->n_begun = 0;
    return 0;
}

int downloads_wait(struct driver *driver, struct error *err)
{
    int64_t deadline_ms = driver_page_deadline(driver);

    while (driver->n_begun > 0 && driver->n_downloads > 0) {
        if (wait_step(driver, deadline_ms, err) < 0)
            return -1;
    }
    return 0;
}

int downloads_wait_announced(struct driver *driver, struct error *err)
{
    int64_t deadline_ms = driver_page_deadline(driver);

    while (driver->n_begun == 0) {
        if (cdp_listen(driver->cdp, deadline_ms, err) < 0)
            return -1;
    }
    return downloads_wait(driver, err);
}
