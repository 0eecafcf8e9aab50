#include "fcgi/agent/streamed_turn.h"

#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/event/progress.h"
#include "model/openai/openai_stream.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/run_watch.h"
#include "web/reply_output.h"

/* Proxies close connections that are silent for a minute. */
enum { KEEP_ALIVE_MS = 15000 };

static const char EVENT_STREAM[] = "text/event-stream; charset=utf-8";
static const char LATE_TEXT[] = "The answer did not come in time; the conversation continues";
static const char FAULT_TEXT[] = "Internal Server Error";
/* Between two things that the agent says. */
static const char SEPARATOR[] = "\n\n";

/* The model's answer that is being sent before it is stored. */
struct live_answer {
    struct uuid id; /* of the event that it becomes; unset: none */
    int64_t attempt;
    int64_t order; /* of the next piece */
    bool is_lost;  /* a piece is missing: the rest comes with the event */
    struct strbuf text;
};

struct sending {
    const struct request *request;
    struct reply *reply;
    const struct streamed_turn *turn;
    struct live_answer live;
    struct uuid stored_id; /* the last event of the agent that was sent */
    struct strbuf out;     /* events to send next */
    bool is_full;          /* the answer is longer than a stream may be */
};

static bool is_same(const struct uuid *a, const struct uuid *b)
{
    return text_equal(a->text, b->text);
}

/* --- text --- */

static const char *skip_blank(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static void say(struct sending *sending, const char *text)
{
    if (text[0] != '\0' && !sending->is_full)
        sending->is_full = !openai_stream_add(sending->turn->stream, text, &sending->out);
}

/* The beginning of something new. */
static void say_apart(struct sending *sending, const char *text)
{
    if (text_is_blank(text))
        return;
    if (sending->turn->stream->text.len > 0)
        say(sending, SEPARATOR);
    say(sending, text);
}

static void append_texts(const json_t *content, struct strbuf *out)
{
    for (size_t i = 0; i < json_array_size(content); i++)
        strbuf_append(out, json_text_or(json_array_get(content, i), "text", ""));
}

/* --- what the model is writing --- */

static void begin_live(struct live_answer *live, const struct progress *line)
{
    strbuf_reset(&live->text);
    *live = (struct live_answer){.id = line->item_id, .attempt = line->attempt, .text = live->text};
}

static void say_chunk(struct sending *sending, const struct progress *chunk)
{
    struct live_answer *live = &sending->live;

    if (live->is_lost || chunk->order != live->order) {
        live->is_lost = true;
        return;
    }
    live->order++;
    if (chunk->kind != PROGRESS_TEXT)
        return;
    if (live->text.len > 0) {
        strbuf_append(&live->text, chunk->text);
        say(sending, chunk->text);
        return;
    }
    strbuf_append(&live->text, skip_blank(chunk->text));
    say_apart(sending, live->text.text);
}

static void say_pieces(struct sending *sending, const json_t *json, const struct progress *line)
{
    CLEANUP(progress_chunks_done) struct progress_chunks chunks = progress_chunks_of(json, line);
    struct progress chunk = {.text = ""};

    while (progress_next_chunk(&chunks, line, &chunk))
        say_chunk(sending, &chunk);
}

static void take_line(struct sending *sending, const char *text, size_t len)
{
    struct live_answer *live = &sending->live;
    json_auto_t *json = NULL;
    struct progress line = {.text = ""};
    struct error err = ERROR_INIT;

    if (progress_read(text, len, &json, &line, &err) < 0 || line.kind == PROGRESS_TOOL ||
        is_same(&line.item_id, &sending->stored_id))
        return;
    if (!is_same(&line.item_id, &live->id))
        begin_live(live, &line);
    /* What was sent of a failed attempt cannot be taken back: the next one comes with the event. */
    if (line.attempt != live->attempt && live->text.len == 0)
        begin_live(live, &line);
    live->is_lost = live->is_lost || line.attempt != live->attempt;
    if (line.kind == PROGRESS_TEXT || line.kind == PROGRESS_REASONING)
        say_pieces(sending, json, &line);
}

static void take_lines(struct sending *sending, const struct strbuf *lines)
{
    const char *at = lines->text;

    while (*at != '\0') {
        size_t len = strcspn(at, "\n");

        take_line(sending, at, len);
        at += len + (at[len] == '\n');
    }
}

/* --- what is stored --- */

/* What was sent already is not said again; what was sent and is not stored stays as it is. */
static void say_stored(struct sending *sending, const struct uuid *id, const char *text)
{
    const struct strbuf *sent = &sending->live.text;
    bool is_live = is_same(id, &sending->live.id) && sent->len > 0;

    text = skip_blank(text);
    if (is_live && strncmp(text, sent->text, sent->len) == 0)
        say(sending, text + sent->len);
    else if (!is_live || !text_starts_with(sent->text, text))
        say_apart(sending, text);
}

static void take_event(struct sending *sending, const char *body)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *event = NULL;
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;
    const json_t *action = NULL;

    if (json_parse_own(body, strlen(body), &event, &err) < 0 ||
        !text_equal(json_text_or(event, "source", ""), "agent") ||
        !uuid_parse(json_text_or(event, "id", ""), &id))
        return;
    action = json_object_get(event, "action");
    append_texts(json_object_get(json_object_get(event, "llm_message"), "content"), &text);
    append_texts(json_object_get(event, "thought"), &text);
    say_stored(sending, &id, text.text);
    if (text_equal(json_text_or(action, "kind", ""), "FinishAction"))
        say_apart(sending, json_text_or(action, "message", ""));
    sending->stored_id = id;
}

/* --- the stream --- */

static int send_out(struct sending *sending, struct error *err)
{
    if (sending->out.len > 0 &&
        reply_stream_write(sending->reply, sending->out.text, sending->out.len, err) < 0)
        return -1;
    strbuf_reset(&sending->out);
    return reply_stream_flush(sending->reply, err);
}

static int send_update(struct sending *sending, const struct run_update *update, struct error *err)
{
    for (size_t i = 0; i < update->events.n; i++)
        take_event(sending, update->events.bodies[i]);
    take_lines(sending, &update->lines);
    return send_out(sending, err);
}

/* ERROR_TIMEOUT at the turn's deadline. */
static int follow(struct sending *sending, struct run_watch *watch, struct error *err)
{
    CLEANUP(run_update_done) struct run_update update = RUN_UPDATE_INIT;
    const int64_t deadline_ms = sending->turn->deadline_ms;

    while (!update.is_over && !sending->is_full) {
        int64_t now_ms = clock_monotonic_ms();
        bool is_last = deadline_ms - now_ms <= KEEP_ALIVE_MS;
        const struct run_watch_limits limits = {is_last ? deadline_ms : now_ms + KEEP_ALIVE_MS,
                                                sending->reply->output->fd};
        int rc = run_watch_next(watch, &limits, &update, err);

        if (rc < 0 && (err->code != ERROR_TIMEOUT || is_last))
            return -1;
        if (rc < 0)
            openai_stream_keep_alive(&sending->out);
        if (send_update(sending, &update, err) < 0)
            return -1;
    }
    return 0;
}

/* The client is gone: nobody reads what the run would say. */
static void end_run(struct sending *sending)
{
    struct error err = ERROR_INIT;

    if (conversation_interrupt_now(sending->request, &sending->turn->conversation_id, &err) < 0)
        log_warning("stream.run_not_ended", LOG_ERROR(&err));
    else
        log_info("stream.run_ended");
}

static int finish(struct sending *sending, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const struct conversation_scope scope = principal_scope(&sending->request->principal);
    const struct streamed_turn *turn = sending->turn;
    struct openai_usage now = {.input_tokens = 0};

    if (conversation_store_load(sending->request->context->db, &scope, &turn->conversation_id,
                                &conversation, err) < 0)
        return -1;
    now = openai_usage_of(conversation.stats);
    now = openai_usage_since(&now, &turn->before);
    if (sending->is_full) {
        openai_stream_end(turn->stream, OPENAI_END_CUT, &now, &sending->out);
        end_run(sending);
    } else if (conversation.status == STATUS_FINISHED) {
        openai_stream_end(turn->stream, OPENAI_END_COMPLETE, &now, &sending->out);
    } else {
        strbuf_appendf(&words, "The conversation ended as '%s', not as 'finished'",
                       status_to_string(conversation.status));
        openai_stream_fail(turn->stream, words.text, &sending->out);
    }
    return send_out(sending, err);
}

/* The head is sent: a failure is the last event. */
static void settle_failure(struct sending *sending, const struct error *cause)
{
    struct error err = ERROR_INIT;

    if (cause->code == ERROR_CANCELLED) {
        end_run(sending);
        return;
    }
    if (cause->code != ERROR_TIMEOUT)
        log_error("stream.failed", LOG_ERROR(cause));
    openai_stream_fail(sending->turn->stream, cause->code == ERROR_TIMEOUT ? LATE_TEXT : FAULT_TEXT,
                       &sending->out);
    error_ignore(send_out(sending, &err), "the client is gone, too");
}

int streamed_turn_send(const struct request *request, struct reply *reply,
                       const struct streamed_turn *turn, struct error *err)
{
    struct sending sending = {.request = request,
                              .reply = reply,
                              .turn = turn,
                              .live = {.text = STRBUF_INIT},
                              .out = STRBUF_INIT};
    CLEANUP(run_watch_freep) struct run_watch *watch = NULL;
    struct error cause = ERROR_INIT;

    if (run_watch_new(request->context->db, &turn->conversation_id, turn->after_seq, &watch, err) <
        0)
        return -1;
    reply_header(reply, "Cache-Control", "no-cache");
    openai_stream_begin(turn->stream, &sending.out);
    if (reply_stream_begin(reply, 200, EVENT_STREAM, &cause) < 0 ||
        send_out(&sending, &cause) < 0 || follow(&sending, watch, &cause) < 0 ||
        finish(&sending, &cause) < 0)
        settle_failure(&sending, &cause);
    strbuf_done(&sending.live.text);
    strbuf_done(&sending.out);
    return 0;
}
