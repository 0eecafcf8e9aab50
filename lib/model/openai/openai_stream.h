/*
 * Streamed answers of the OpenAI-compatible API: the server-sent events of a chat completion or of
 * a response, as text that grows. The answer is one message.
 *
 *     openai_stream_begin(&stream, &out);
 *     while (…) openai_stream_add(&stream, text, &out);
 *     openai_stream_end(&stream, OPENAI_END_COMPLETE, &usage, &out);    // or openai_stream_fail()
 *
 * Ownership: the caller owns struct openai_stream until openai_stream_done(); `model` and `asked`
 * are borrowed.
 * Threading: pure.
 * Source:    https://platform.openai.com/docs/api-reference/chat-streaming, …/responses-streaming
 */
#ifndef DEFT_MODEL_OPENAI_OPENAI_STREAM_H
#define DEFT_MODEL_OPENAI_OPENAI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct openai_usage;

/* The events of a response repeat the whole text at the end. */
#define OPENAI_STREAM_MAX_BYTES ((size_t)(1024 * 1024))

enum openai_form { OPENAI_FORM_CHAT, OPENAI_FORM_RESPONSE };

/* How an answer ends: as a whole, or cut at OPENAI_STREAM_MAX_BYTES. */
enum openai_end { OPENAI_END_COMPLETE, OPENAI_END_CUT };

struct openai_stream {
    enum openai_form form;
    const char *model;   /* as requested */
    const json_t *asked; /* the request's values, some of which a response echoes */
    int64_t begun_s;     /* unix seconds */
    struct strbuf id;
    struct strbuf item_id; /* of a response's message */
    struct strbuf text;    /* so far */
    int64_t n_events;      /* of a response, so far */
};

/* clang-format off */
#define OPENAI_STREAM_INIT {.id = STRBUF_INIT, .item_id = STRBUF_INIT, .text = STRBUF_INIT}
/* clang-format on */

void openai_stream_done(struct openai_stream *stream);

/* Each appends server-sent events to *out. */

/* The first events; form, model, asked and begun_s are set. */
void openai_stream_begin(struct openai_stream *stream, struct strbuf *out) NONNULL;
/* A piece of the answer's text, UTF-8, not empty. False, with nothing appended: it is too much. */
bool openai_stream_add(struct openai_stream *stream, const char *piece,
                       struct strbuf *out) NONNULL MUST_CHECK;
/* The last events, with the usage of a chat if the request asks for it. */
void openai_stream_end(struct openai_stream *stream, enum openai_end end,
                       const struct openai_usage *usage, struct strbuf *out) NONNULL;
/* The last event of an answer that failed. words: for the client. */
void openai_stream_fail(struct openai_stream *stream, const char *words,
                        struct strbuf *out) NONNULL;
/* A comment, which clients ignore: it keeps an idle connection open. */
void openai_stream_keep_alive(struct strbuf *out) NONNULL;

#endif
