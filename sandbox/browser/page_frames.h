/*
 * Our scripts in the frames of the current tab: each frame has an isolated world of ours, which
 * shares the page's document but none of its variables.
 */
#ifndef DEFT_SANDBOX_BROWSER_PAGE_FRAMES_H
#define DEFT_SANDBOX_BROWSER_PAGE_FRAMES_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct error;
struct page_frame;

/* Reads the frames of the current tab into driver->frames, the page itself first. */
int page_frames_read(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* Creates an isolated world in the page itself; the numbered elements stay valid. */
int page_frames_open_main(struct driver *driver, struct page_frame *frame_out,
                          struct error *err) NONNULL MUST_CHECK;
void page_frames_clear(struct driver *driver) NONNULL;
/*
 * Calls `function`, a JavaScript function that returns JSON text, with `arguments` (JavaScript
 * expressions, separated by commas) in a frame; the caller owns *value_out. ERROR_INVALID when the
 * frame is gone or the function failed.
 */
int frame_call(struct driver *driver, const struct page_frame *frame, const char *function,
               const char *arguments, json_t **value_out, struct error *err) NONNULL MUST_CHECK;
/* The handle of the object that an expression yields in a frame; "" when it yields none. */
int frame_object(struct driver *driver, const struct page_frame *frame, const char *expression,
                 char **object_out, struct error *err) NONNULL MUST_CHECK;
/* Calls a function that returns JSON text with such an object as `this`. */
int object_call(struct driver *driver, const char *object, const char *function, const char *text,
                json_t **value_out, struct error *err)
    __attribute__((nonnull(1, 2, 3, 5, 6))) MUST_CHECK;

#endif
