/*
 * Titles that nobody wrote: a message's first line, cut to size.
 */
#ifndef DEFT_MODEL_EVENT_TITLE_H
#define DEFT_MODEL_EVENT_TITLE_H

#include "base/attr.h"

/* Of an automatic title. */
enum { TITLE_AUTO_MAX_CHARS = 50 };

/*
 * The first line of text that says something, without marks of Markdown, white space squeezed, at
 * most TITLE_AUTO_MAX_CHARS characters: of a longer one the words that fit, and "...". NULL when
 * text has none. mem_free() it.
 */
char *title_from_text(const char *text) NONNULL MUST_CHECK;

/*
 * A model's answer as a title: what it thought aloud (<think>…</think>) and quotation marks around
 * it are left out; else as title_from_text().
 */
char *title_from_answer(const char *text) NONNULL MUST_CHECK;

#endif
