/*
 * Internal to lib/llm: names of functions for Gemini, which must begin with a letter or '_'. A name
 * that begins otherwise gets a '_' in front; so does one that would be taken for such a name.
 */
#ifndef DEFT_LLM_FORMATS_GEMINI_NAME_H
#define DEFT_LLM_FORMATS_GEMINI_NAME_H

#include "base/attr.h"

struct strbuf;

/* Appends the name as Gemini is told it. */
void gemini_name_append(struct strbuf *out, const char *name) NONNULL;
/* Appends the name that Gemini was told as this one. */
void gemini_name_append_original(struct strbuf *out, const char *name) NONNULL;

#endif
