/*
 * A conversation as a zip archive: its info, and one file per event as stored, that is, without
 * secrets.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/zip.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "store/conversation/event_store.h"

enum { BATCH_EVENTS = 100 };

static int write_reply(void *state, const char *bytes, size_t len, struct error *err)
{
    return reply_stream_write(state, bytes, len, err);
}

static int add_info(struct zip *zip, const struct conversation *conversation, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *info = info_plain(conversation, INFO_WITH_SKILLS);

    json_append_text(&text, info);
    return zip_add(zip, "base_state.json", text.text, text.len, err);
}

/* events/event-00007-<id>.json */
static int add_event(struct zip *zip, int64_t number, const char *body, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    json_auto_t *event = NULL;

    if (json_parse_own(body, strlen(body), &event, err) < 0)
        return error_wrap(err, "event %lld", (long long)number);
    strbuf_appendf(&name, "events/event-%05lld-%s.json", (long long)number,
                   json_text_or(event, "id", ""));
    return zip_add(zip, name.text, body, strlen(body), err);
}

/* Appends the events after *seq_io; tells whether there were any. */
static int add_batch(const struct request *request, const struct conversation *conversation,
                     struct zip *zip, int64_t *seq_io, bool *had_any_out, struct error *err)
{
    CLEANUP(event_batch_done) struct event_batch batch = {0};

    if (event_store_read_batch(request->context->db, &conversation->id, *seq_io, BATCH_EVENTS,
                               &batch, err) < 0)
        return -1;
    *had_any_out = batch.n > 0;
    for (size_t i = 0; i < batch.n; i++) {
        /* Minus one for the info file before them. */
        if (add_event(zip, (int64_t)zip->n_files - 1, batch.bodies[i], err) < 0)
            return -1;
        *seq_io = batch.seqs[i];
    }
    return 0;
}

static int send_archive(const struct request *request, struct reply *reply,
                        const struct conversation *conversation, struct error *err)
{
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(reply, write_reply);
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    char hex[UUID_HEX_BYTES];
    int64_t seq = -1;
    bool had_any = true;

    uuid_to_hex(&conversation->id, hex);
    strbuf_appendf(&name, "attachment; filename=\"%s.zip\"", hex);
    reply_header(reply, "Content-Disposition", name.text);
    if (reply_stream_begin(reply, 200, "application/octet-stream", err) < 0)
        return -1;
    if (add_info(&zip, conversation, err) < 0)
        return -1;
    while (had_any) {
        if (add_batch(request, conversation, &zip, &seq, &had_any, err) < 0)
            return -1;
    }
    return zip_finish(&zip, err);
}

/* GET -> 200 zip | 404 | 422 */
static int trajectory(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    if (agent_load_conversation(request, UNKNOWN_NAMED, &conversation, err) < 0)
        return -1;
    return send_archive(request, reply, &conversation, err);
}

/* As above on the route of a conversation's sandbox; both ids must be the same. */
static int trajectory_scoped(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct uuid id = UUID_INIT;

    if (agent_conversation_id(request, &id, err) < 0 ||
        agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    if (!text_equal(id.text, conversation.id.text))
        return error_set(err, ERROR_INVALID, "Trajectory must belong to the selected conversation");
    return send_archive(request, reply, &conversation, err);
}

#define SCOPED "/api/conversations/{runtime_conversation_id}/file"

const struct route trajectory_routes[] = {
    {HTTP_GET, "/api/file/download-trajectory/{conversation_id}", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_READS, 0, trajectory},
    {HTTP_GET, SCOPED "/download-trajectory/{conversation_id}", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_READS, 0, trajectory_scoped},
    {.handle = NULL},
};
