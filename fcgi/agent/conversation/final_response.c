/*
 * GET …/agent_final_response: the agent's last answer.
 */
#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"

static void append_texts(const json_t *content, struct strbuf *out)
{
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part)
        strbuf_append(out, json_text_or(part, "text", ""));
}

/* True when the event is an answer of the agent; appends its text. */
static bool is_answer(const json_t *event, struct strbuf *text_out)
{
    const char *kind = json_text_or(event, "kind", "");
    const json_t *action = json_object_get(event, "action");

    if (!text_equal(json_text_or(event, "source", ""), "agent"))
        return false;
    if (text_equal(kind, "MessageEvent")) {
        append_texts(json_object_get(json_object_get(event, "llm_message"), "content"), text_out);
        return true;
    }
    if (!text_equal(kind, "ActionEvent") ||
        !text_equal(json_text_or(action, "kind", ""), "FinishAction"))
        return false;
    strbuf_append(text_out, json_text_or(action, "message", ""));
    return true;
}

/* Searches one page from the end; *page_id is the next one's, "" when there is none. */
static int search_page(const struct request *request, struct event_filter *filter,
                       struct strbuf *page_id, bool *found_out, struct strbuf *text_out,
                       struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    json_auto_t *page = NULL;
    json_t *event = NULL;
    size_t i = 0;

    filter->page_id = page_id->len > 0 ? page_id->text : NULL;
    if (event_store_search(request->context->db, &scope, filter, &json, err) < 0 ||
        json_parse_own(json.text, json.len, &page, err) < 0)
        return -1;
    json_array_foreach (json_object_get(page, "items"), i, event) {
        if (is_answer(event, text_out)) {
            *found_out = true;
            return 0;
        }
    }
    strbuf_reset(page_id);
    strbuf_append(page_id, json_text_or(page, "next_page_id", ""));
    return 0;
}

int final_response_read(const struct request *request, const struct uuid *id,
                        struct strbuf *text_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf page_id = STRBUF_INIT;
    struct event_filter filter = {
        .conversation_id = *id, .source = "agent", .descending = true, .limit = PAGE_MAX_ITEMS};
    bool found = false;

    do {
        if (search_page(request, &filter, &page_id, &found, text_out, err) < 0)
            return -1;
    } while (!found && page_id.len > 0);
    return 0;
}

/* GET -> 200 {"response": text} | 404 */
static int final_response(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *json = json_object();

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0 ||
        final_response_read(request, &conversation.id, &text, err) < 0)
        return -1;
    json_put_text(json, "response", text.text);
    return reply_json(reply, 200, json);
}

const struct route final_response_routes[] = {
    {HTTP_GET, "/api/conversations/{conversation_id}/agent_final_response", ORIGIN_BOTH,
     ACCESS_CALLER, SANDBOX_READS, 0, final_response},
    {.handle = NULL},
};
