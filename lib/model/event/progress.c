#include "model/event/progress.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

static const char *const kind_texts[PROGRESS_N_KINDS] = {
#define X(constant, text) [constant] = (text),
    PROGRESS_KINDS(X)
#undef X
};

/* --- lines --- */

static json_t *lengths_to_json(const struct progress *progress)
{
    json_t *lengths = json_array();

    for (size_t i = 0; i < progress->n_lengths; i++)
        json_push(lengths, json_integer((json_int_t)progress->lengths[i]));
    return lengths;
}

static void put_amount(json_t *json, const struct progress *progress)
{
    json_put(json, "progress", json_real(progress->done));
    if (progress->total > 0)
        json_put(json, "total", json_real(progress->total));
}

void progress_append_line(const struct progress *progress, struct strbuf *out)
{
    json_auto_t *json = json_object();

    json_put_text(json, "item", progress->item_id.text);
    json_put_text(json, "kind", kind_texts[progress->kind]);
    json_put(json, "attempt", json_integer(progress->attempt));
    json_put(json, "order", json_integer(progress->order));
    json_put(json, "anchor", json_integer(progress->anchor_seq));
    json_put_text(json, "text", progress->text);
    json_put_text(json, "chunk", progress->chunk_id);
    if (progress->n_lengths > 1)
        json_put(json, "lengths", lengths_to_json(progress));
    if (progress->n_attempts > 0) {
        json_put(json, "attempts", json_integer(progress->n_attempts));
        json_put(json, "retry_in_ms", json_integer(progress->retry_in_ms));
    }
    if (progress->gives_up_in_ms > 0)
        json_put(json, "gives_up_in_ms", json_integer(progress->gives_up_in_ms));
    if (progress->kind == PROGRESS_TOOL)
        put_amount(json, progress);
    strbuf_append(out, progress->conversation_id.text);
    strbuf_append_char(out, ' ');
    json_append_text(out, json);
}

static int read_kind(const json_t *json, enum progress_kind *kind_out, struct error *err)
{
    const char *text = json_text_or(json, "kind", "");

    for (size_t i = 0; i < PROGRESS_N_KINDS; i++) {
        if (!text_equal(text, kind_texts[i]))
            continue;
        *kind_out = (enum progress_kind)i;
        return 0;
    }
    return error_set(err, ERROR_INVALID, "progress of an unknown kind");
}

int progress_read(const char *text, size_t len, json_t **json_out, struct progress *progress_out,
                  struct error *err)
{
    json_auto_t *json = NULL;
    struct progress read = {.conversation_id = progress_out->conversation_id};

    if (json_parse(text, len, &json, err) < 0 || read_kind(json, &read.kind, err) < 0)
        return -1;
    if (!uuid_parse(json_text_or(json, "item", ""), &read.item_id))
        return error_set(err, ERROR_INVALID, "progress without an item");
    read.attempt = json_int_or(json, "attempt", 1);
    read.order = json_int_or(json, "order", 0);
    read.anchor_seq = json_int_or(json, "anchor", 0);
    read.text = json_text_or(json, "text", "");
    read.chunk_id = json_text_or(json, "chunk", NULL);
    read.n_attempts = json_int_or(json, "attempts", 0);
    read.retry_in_ms = json_int_or(json, "retry_in_ms", 0);
    read.gives_up_in_ms = json_int_or(json, "gives_up_in_ms", 0);
    read.done = json_number_or(json, "progress", 0);
    read.total = json_number_or(json, "total", 0);
    *progress_out = read;
    *json_out = json_incref(json);
    return 0;
}

struct progress_chunks progress_chunks_of(const json_t *json, const struct progress *line)
{
    return (struct progress_chunks){
        .lengths = json_object_get(json, "lengths"), .at = line->text, .text = STRBUF_INIT};
}

void progress_chunks_done(struct progress_chunks *chunks)
{
    if (chunks != NULL)
        strbuf_done(&chunks->text);
}

/* The last chunk is the entire rest, regardless of its stated length. */
bool progress_next_chunk(struct progress_chunks *chunks, const struct progress *line,
                         struct progress *chunk_out)
{
    size_t left = strlen(chunks->at);
    json_int_t len = (json_int_t)left;

    if (chunks->i > 0 && chunks->i >= json_array_size(chunks->lengths))
        return false;
    if (chunks->i + 1 < json_array_size(chunks->lengths))
        len = json_integer_value(json_array_get(chunks->lengths, chunks->i));
    if (len < 0 || (size_t)len > left)
        len = (json_int_t)left;
    strbuf_reset(&chunks->text);
    strbuf_append_bytes(&chunks->text, chunks->at, (size_t)len);
    *chunk_out = *line;
    chunk_out->text = chunks->text.text;
    chunk_out->order = line->order + (int64_t)chunks->i++;
    chunks->at += len;
    return true;
}

/* --- frames --- */

static void put_piece(json_t *frame, const struct progress *progress)
{
    json_put(frame, "order", json_integer(progress->order));
    json_put_text(frame, "kind", kind_texts[progress->kind]);
    json_put_text(frame, "content", progress->text);
    json_put_text(frame, "chunk_id", progress->chunk_id);
    json_put(frame, "choice_index", json_integer(0));
}

static void put_end(json_t *frame, const struct progress *progress)
{
    json_put_text(frame, "reason", progress->text);
    if (progress->n_attempts == 0)
        return;
    json_put(frame, "attempts", json_integer(progress->n_attempts));
    json_put(frame, "retry_in_ms", json_integer(progress->retry_in_ms));
    if (progress->gives_up_in_ms > 0)
        json_put(frame, "gives_up_in_ms", json_integer(progress->gives_up_in_ms));
}

static void append_tool_frame(const struct progress *progress, struct strbuf *out)
{
    json_auto_t *frame = json_object();

    json_put_text(frame, "type", kind_texts[PROGRESS_TOOL]);
    json_put_text(frame, "action_id", progress->item_id.text);
    put_amount(frame, progress);
    if (progress->text[0] != '\0')
        json_put_text(frame, "message", progress->text);
    json_append_text(out, frame);
}

void progress_append_frame(const struct progress *progress, struct strbuf *out)
{
    json_auto_t *frame = json_object();
    bool is_piece = progress->kind == PROGRESS_TEXT || progress->kind == PROGRESS_REASONING;

    if (progress->kind == PROGRESS_TOOL) {
        append_tool_frame(progress, out);
        return;
    }
    json_put_text(frame, "type", is_piece ? "delta" : kind_texts[progress->kind]);
    json_put_text(frame, "item_id", progress->item_id.text);
    json_put(frame, "attempt", json_integer(progress->attempt));
    if (is_piece)
        put_piece(frame, progress);
    /* The wire counts from 0, the store from 1. */
    if (progress->kind == PROGRESS_STARTED && progress->anchor_seq > 0)
        json_put(frame, "anchor_seq", json_integer(progress->anchor_seq - 1));
    if (progress->kind == PROGRESS_ABORTED)
        put_end(frame, progress);
    json_append_text(out, frame);
}

void progress_append_event(const struct progress *progress, int64_t now_us, struct strbuf *out)
{
    json_auto_t *event = json_object();
    struct uuid id = uuid_random();
    char stamp[CLOCK_TEXT_BYTES];

    clock_format_naive(now_us, stamp);
    json_put_text(event, "id", id.text);
    json_put_text(event, "timestamp", stamp);
    json_put_text(event, "source", "agent");
    json_put_text(event, progress->kind == PROGRESS_TEXT ? "content" : "reasoning_content",
                  progress->text);
    json_put_text(event, "kind", "StreamingDeltaEvent");
    json_append_text(out, event);
}
