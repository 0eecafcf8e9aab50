#include "model/openai/openai_stream.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "model/openai/openai_answer.h"

enum { US_PER_S = 1000000 };

void openai_stream_done(struct openai_stream *stream)
{
    if (stream == NULL)
        return;
    strbuf_done(&stream->id);
    strbuf_done(&stream->item_id);
    strbuf_done(&stream->text);
}

static json_t *count(int64_t n)
{
    return json_integer((json_int_t)n);
}

static void append_data(struct strbuf *out, const json_t *json)
{
    strbuf_append(out, "data: ");
    json_append_text(out, json);
    strbuf_append(out, "\n\n");
}

/* --- chat --- */

static bool tells_usage(const struct openai_stream *stream)
{
    const json_t *options = json_object_get(stream->asked, "stream_options");

    return json_is_true(json_object_get(options, "include_usage"));
}

/* A chunk without choices. With usage asked for, all but the last have none. */
static json_t *chunk_of(const struct openai_stream *stream)
{
    json_t *chunk = json_object();

    json_put_text(chunk, "id", stream->id.text);
    json_put_text(chunk, "object", "chat.completion.chunk");
    json_put(chunk, "created", count(stream->begun_s));
    json_put_text(chunk, "model", stream->model);
    json_put(chunk, "choices", json_array());
    if (tells_usage(stream))
        json_put(chunk, "usage", json_null());
    return chunk;
}

/* Takes over the delta. finish: NULL while it goes on. */
static void append_choice(const struct openai_stream *stream, json_t *delta, const char *finish,
                          struct strbuf *out)
{
    json_auto_t *chunk = chunk_of(stream);
    json_t *choice = json_object();

    json_put(choice, "index", count(0));
    json_put(choice, "delta", delta);
    json_put(choice, "logprobs", json_null());
    json_put(choice, "finish_reason", json_text_of(finish));
    json_push(json_object_get(chunk, "choices"), choice);
    append_data(out, chunk);
}

static void begin_chat(const struct openai_stream *stream, struct strbuf *out)
{
    json_t *delta = json_object();

    json_put_text(delta, "role", "assistant");
    json_put_text(delta, "content", "");
    append_choice(stream, delta, NULL, out);
}

static void add_chat(const struct openai_stream *stream, const char *piece, struct strbuf *out)
{
    json_t *delta = json_object();

    json_put_text(delta, "content", piece);
    append_choice(stream, delta, NULL, out);
}

static void end_chat(const struct openai_stream *stream, enum openai_end end,
                     const struct openai_usage *usage, struct strbuf *out)
{
    json_auto_t *last = chunk_of(stream);

    append_choice(stream, json_object(), end == OPENAI_END_CUT ? "length" : "stop", out);
    if (tells_usage(stream)) {
        json_put(last, "usage", openai_completion_usage(usage));
        append_data(out, last);
    }
    strbuf_append(out, "data: [DONE]\n\n");
}

static void fail_chat(const char *words, struct strbuf *out)
{
    json_auto_t *json = json_object();
    json_t *error = json_need_object(json, "error");

    json_put_text(error, "message", words);
    json_put_text(error, "type", "server_error");
    json_put(error, "param", json_null());
    json_put(error, "code", json_null());
    append_data(out, json);
}

/* --- response --- */

/* An event of that type; a new reference. */
static json_t *event_of(struct openai_stream *stream, const char *type)
{
    json_t *event = json_object();

    json_put_text(event, "type", type);
    json_put(event, "sequence_number", count(stream->n_events++));
    return event;
}

static void append_event(struct strbuf *out, const json_t *event)
{
    strbuf_appendf(out, "event: %s\n", json_text_or(event, "type", ""));
    append_data(out, event);
}

/* The response as it is at its beginning; a new reference. */
static json_t *begun_response(const struct openai_stream *stream)
{
    const struct openai_answer answer = {
        .id = stream->id.text,
        .item_id = stream->item_id.text,
        .model = stream->model,
        .text = stream->text.text,
        .begun_s = stream->begun_s,
    };
    json_t *response = openai_response(&answer, stream->asked);

    json_put_text(response, "status", "in_progress");
    json_put(response, "completed_at", json_null());
    json_put(response, "error", json_null());
    json_put(response, "incomplete_details", json_null());
    json_put(response, "output", json_array());
    json_put(response, "usage", json_null());
    return response;
}

static void append_response(struct openai_stream *stream, const char *type, json_t *response,
                            struct strbuf *out)
{
    json_auto_t *event = event_of(stream, type);

    json_put(event, "response", response);
    append_event(out, event);
}

/* The place of the message's text. */
static json_t *text_event(struct openai_stream *stream, const char *type)
{
    json_t *event = event_of(stream, type);

    json_put_text(event, "item_id", stream->item_id.text);
    json_put(event, "output_index", count(0));
    json_put(event, "content_index", count(0));
    return event;
}

static void append_part(struct openai_stream *stream, const char *type, struct strbuf *out)
{
    json_auto_t *event = text_event(stream, type);

    json_put(event, "part", openai_text_part(stream->text.text));
    append_event(out, event);
}

/* content: false for a message that has just begun. */
static void append_item(struct openai_stream *stream, const char *type, const char *status,
                        struct strbuf *out)
{
    json_auto_t *event = event_of(stream, type);
    json_t *item = openai_message(stream->item_id.text, stream->text.text);

    json_put_text(item, "status", status);
    if (text_equal(status, "in_progress"))
        json_put(item, "content", json_array());
    json_put(event, "output_index", count(0));
    json_put(event, "item", item);
    append_event(out, event);
}

static void begin_response(struct openai_stream *stream, struct strbuf *out)
{
    append_response(stream, "response.created", begun_response(stream), out);
    append_response(stream, "response.in_progress", begun_response(stream), out);
    append_item(stream, "response.output_item.added", "in_progress", out);
    append_part(stream, "response.content_part.added", out);
}

static void add_response(struct openai_stream *stream, const char *piece, struct strbuf *out)
{
    json_auto_t *event = text_event(stream, "response.output_text.delta");

    json_put_text(event, "delta", piece);
    json_put(event, "logprobs", json_array());
    append_event(out, event);
}

/* The text and its message are closed. */
static void close_item(struct openai_stream *stream, const char *status, struct strbuf *out)
{
    json_auto_t *event = text_event(stream, "response.output_text.done");

    json_put_text(event, "text", stream->text.text);
    json_put(event, "logprobs", json_array());
    append_event(out, event);
    append_part(stream, "response.content_part.done", out);
    append_item(stream, "response.output_item.done", status, out);
}

static void end_response(struct openai_stream *stream, enum openai_end end,
                         const struct openai_usage *usage, struct strbuf *out)
{
    bool is_cut = end == OPENAI_END_CUT;
    const char *status = is_cut ? "incomplete" : "completed";
    json_t *response = begun_response(stream);
    json_t *item = openai_message(stream->item_id.text, stream->text.text);

    close_item(stream, status, out);
    json_put_text(item, "status", status);
    json_push(json_object_get(response, "output"), item);
    json_put_text(response, "status", status);
    json_put(response, "usage", openai_response_usage(usage));
    if (is_cut)
        json_put_text(json_need_object(response, "incomplete_details"), "reason",
                      "max_output_tokens");
    else
        json_put(response, "completed_at", count(clock_utc_us() / US_PER_S));
    append_response(stream, is_cut ? "response.incomplete" : "response.completed", response, out);
}

static void fail_response(struct openai_stream *stream, const char *words, struct strbuf *out)
{
    json_t *response = begun_response(stream);
    json_t *error = json_need_object(response, "error");

    json_put_text(error, "code", "server_error");
    json_put_text(error, "message", words);
    json_put_text(response, "status", "failed");
    append_response(stream, "response.failed", response, out);
}

/* --- both --- */

void openai_stream_begin(struct openai_stream *stream, struct strbuf *out)
{
    switch (stream->form) {
    case OPENAI_FORM_CHAT:
        openai_append_id("chatcmpl-", &stream->id);
        begin_chat(stream, out);
        break;
    case OPENAI_FORM_RESPONSE:
        openai_append_id("resp_", &stream->id);
        openai_append_id("msg_", &stream->item_id);
        begin_response(stream, out);
        break;
    }
}

bool openai_stream_add(struct openai_stream *stream, const char *piece, struct strbuf *out)
{
    if (strlen(piece) > OPENAI_STREAM_MAX_BYTES - stream->text.len)
        return false;
    strbuf_append(&stream->text, piece);
    switch (stream->form) {
    case OPENAI_FORM_CHAT:
        add_chat(stream, piece, out);
        break;
    case OPENAI_FORM_RESPONSE:
        add_response(stream, piece, out);
        break;
    }
    return true;
}

void openai_stream_end(struct openai_stream *stream, enum openai_end end,
                       const struct openai_usage *usage, struct strbuf *out)
{
    switch (stream->form) {
    case OPENAI_FORM_CHAT:
        end_chat(stream, end, usage, out);
        break;
    case OPENAI_FORM_RESPONSE:
        end_response(stream, end, usage, out);
        break;
    }
}

void openai_stream_fail(struct openai_stream *stream, const char *words, struct strbuf *out)
{
    switch (stream->form) {
    case OPENAI_FORM_CHAT:
        fail_chat(words, out);
        break;
    case OPENAI_FORM_RESPONSE:
        fail_response(stream, words, out);
        break;
    }
}

void openai_stream_keep_alive(struct strbuf *out)
{
    strbuf_append(out, ": keep-alive\n\n");
}
