/*
 * Input to a page's elements: click, type, scroll.
 */
#ifndef DEFT_SANDBOX_BROWSER_INPUT_H
#define DEFT_SANDBOX_BROWSER_INPUT_H

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct driver_reply;
struct error;

/* browser_click: index, new_tab. */
int input_click(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err) NONNULL MUST_CHECK;
/* browser_type: index, text. */
int input_type(struct driver *driver, const json_t *args, struct driver_reply *reply,
               struct error *err) NONNULL MUST_CHECK;
/* browser_scroll: direction. */
int input_scroll(struct driver *driver, const json_t *args, struct driver_reply *reply,
                 struct error *err) NONNULL MUST_CHECK;

/* A typed text as the answer shows it: the text, <email> or <credential>. */
const char *input_shown_text(const char *text) NONNULL MUST_CHECK;

#endif
