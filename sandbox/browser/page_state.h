/*
 * The state of a page as the model sees it: address, tabs, sizes, and the usable elements, numbered
 * across all frames.
 */
#ifndef DEFT_SANDBOX_BROWSER_PAGE_STATE_H
#define DEFT_SANDBOX_BROWSER_PAGE_STATE_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct driver_reply;
struct error;
struct page_frame;
struct strbuf;

/* browser_get_state: include_screenshot. */
int page_state_get(struct driver *driver, const json_t *args, struct driver_reply *reply,
                   struct error *err) NONNULL MUST_CHECK;
/* The frame of the element with that number, and its index there; NULL when there is none. */
const struct page_frame *page_state_find(const struct driver *driver, json_int_t index,
                                         size_t *place_out) NONNULL MUST_CHECK;
/*
 * Appends the state as JSON text: `page` plus the list "interactive_elements" made of `elements`,
 * numbered from 0. Elements are dropped from the end until the text is short enough; returns how
 * many are included.
 */
size_t page_state_append(struct strbuf *out, json_t *page,
                         const json_t *elements) NONNULL MUST_CHECK;

#endif
