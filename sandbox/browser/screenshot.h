/*
 * Screenshots of the visible part of a page.
 */
#ifndef DEFT_SANDBOX_BROWSER_SCREENSHOT_H
#define DEFT_SANDBOX_BROWSER_SCREENSHOT_H

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct error;

/* A PNG in base64, scaled down if needed to fit into an event. */
int screenshot_take(struct driver *driver, json_t **picture_out,
                    struct error *err) NONNULL MUST_CHECK;

#endif
