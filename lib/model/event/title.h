/*
 * Automatic titles: a message's first line, cut to size.
 */
#ifndef DEFT_MODEL_EVENT_TITLE_H
#define DEFT_MODEL_EVENT_TITLE_H

#include "base/attr.h"

/* Of an automatic title. */
enum { TITLE_AUTO_MAX_CHARS = 50 };

/*
 * Returns the first line of text that has words, without Markdown markup, white space collapsed, at
 * most TITLE_AUTO_MAX_CHARS characters: a longer line is cut after the last word that fits,
 * followed by "...". NULL if there is no such line. mem_free() it.
 */
char *title_from_text(const char *text) NONNULL MUST_CHECK;

/*
 * As title_from_text(), for a model's response: its reasoning (<think>…</think>) and surrounding
 * quotation marks are removed.
 */
char *title_from_answer(const char *text) NONNULL MUST_CHECK;

#endif
