/*
 * A page's content as Markdown, a window at a time.
 */
#ifndef DEFT_SANDBOX_BROWSER_PAGE_CONTENT_H
#define DEFT_SANDBOX_BROWSER_PAGE_CONTENT_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct driver_reply;
struct error;
struct strbuf;

enum { CONTENT_WINDOW_CHARS = 30000 };

/* browser_get_content: extract_links, start_from_char. */
int page_content_get(struct driver *driver, const json_t *args, struct driver_reply *reply,
                     struct error *err) NONNULL MUST_CHECK;
/*
 * Appends the window of `text` that begins at character `start`, after lines with the address, the
 * window's range and the start of the next one. ERROR_INVALID when the text is shorter.
 */
int page_content_append_window(struct strbuf *out, const char *url, const struct strbuf *text,
                               json_int_t start, struct error *err) NONNULL MUST_CHECK;

#endif
