/*
 * The text of a call as security analyzers read it: what the call executes, and what the model says
 * about it. Invisible characters are dropped, full-width forms of ASCII become ASCII, and runs of
 * blanks or of newlines become one; so each character that is left counts.
 *
 * Ownership: the caller's struct; call_text_done() releases it.
 * Threading: one thread.
 * Decision:  docs/decisions/0091-security-analyzers.md
 */
#ifndef DEFT_MODEL_SECURITY_CALL_TEXT_H
#define DEFT_MODEL_SECURITY_CALL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct security_call;

enum { ANALYZED_TEXT_MAX_CHARS = 30000 }; /* of each text; the rest is not judged */

/* One argument string within the executable text. */
struct call_segment {
    size_t start;
    size_t len;
    bool is_command; /* the argument's name says that a shell runs it */
};

struct call_text {
    struct strbuf executable; /* the tool's name, then each segment on a line of its own */
    struct strbuf spoken;     /* summary, thought, reasoning */
    struct call_segment *segments;
    size_t n_segments;
    size_t size;
    size_t n_left; /* characters that the executable text may still get */
    bool is_cut;   /* the arguments have more: what they do is not known */
};

#define CALL_TEXT_INIT {.executable = STRBUF_INIT, .spoken = STRBUF_INIT}

/* Fills an empty one. Each of the two texts has at most ANALYZED_TEXT_MAX_CHARS. */
void call_text_read(struct call_text *text, const struct security_call *call) NONNULL;
void call_text_done(struct call_text *text);

#endif
