/*
 * Reads conversations: one, many, a page, a count; and DELETE.
 */
#include <string.h>

#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/agent/workspace/sandbox_notify.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/info_store.h"

static const char *const sort_orders[] = {"CREATED_AT", "UPDATED_AT", "CREATED_AT_DESC",
                                          "UPDATED_AT_DESC", NULL};
enum { SORT_CREATED, SORT_UPDATED, SORT_CREATED_DESC, SORT_UPDATED_DESC };

static const char *const statuses[] = {
#define X(constant, text) [constant] = (text),
    EXECUTION_STATUSES(X)
#undef X
        [STATUS_N] = "deleting",
    NULL};

/* Info with members that the list query leaves out: the skills, or a place in the run queue. */
static int get_whole(const struct request *request, enum info_skills skills, struct reply *reply,
                     struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *info = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    info = info_with_runtime(request, &conversation, skills, err);
    if (info == NULL)
        return -1;
    return reply_json(reply, 200, info);
}

/* GET -> 200 Info | 404 */
static int conversation_get(const struct request *request, struct reply *reply, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    struct uuid id = UUID_INIT;

    if (agent_conversation_id(request, &id, err) < 0 || info_skills_read(request, &skills, err) < 0)
        return -1;
    if (skills == INFO_WITH_SKILLS)
        return get_whole(request, skills, reply, err);
    if (info_store_load_many(request->context->db, &scope, &id, 1, &list, err) < 0)
        return -1;
    if (list.n == 0 || list.items[0].is_waiting)
        return get_whole(request, skills, reply, err);
    if (info_append_one(&list, &text, err) < 0)
        return -1;
    return reply_json_text(reply, 200, &text);
}

static int read_ids(const struct request *request, struct uuid *ids, size_t *n_out,
                    struct error *err)
{
    const struct json_path query = {NULL, "query", 0};
    const struct json_path path = {&query, "ids", 0};
    size_t n = 0;

    for (size_t i = 0; i < request->n_query; i++) {
        const char *text = request->query[i].value;
        const struct json_path at = {&path, NULL, (json_int_t)n};
        json_auto_t *input = json_text_of(text);

        if (!text_equal(request->query[i].name, "ids"))
            continue;
        if (n == BATCH_MAX_IDS)
            return request_problem(
                request, &path,
                &(struct validation_error){"too_long", "List should have at most 99 items", NULL},
                NULL, err);
        if (!uuid_parse(text, &ids[n]))
            return request_problem(
                request, &at,
                &(struct validation_error){"uuid_parsing", "Input should be a valid UUID", NULL},
                input, err);
        n++;
    }
    if (n == 0)
        return request_problem(request, &path,
                               &(struct validation_error){"missing", "Field required", NULL}, NULL,
                               err);
    *n_out = n;
    return 0;
}

/* The entry of that conversation, or null; a new reference. */
static json_t *pick(const struct conversation_page *page, json_t *infos, const struct uuid *id)
{
    for (size_t i = 0; i < page->n; i++) {
        if (text_equal(page->items[i].id.text, id->text))
            return json_incref(json_array_get(infos, i));
    }
    return json_null();
}

static int batch_with_skills(const struct request *request, const struct uuid *ids, size_t n,
                             struct reply *reply, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    CLEANUP(conversation_page_done) struct conversation_page page = {0};
    json_auto_t *infos = NULL;
    json_auto_t *list = json_array();

    if (conversation_store_load_many(request->context->db, &scope, ids, n, &page, err) < 0)
        return -1;
    infos = info_array(request, page.items, page.n, INFO_WITH_SKILLS, err);
    if (infos == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        json_push(list, pick(&page, infos, &ids[i]));
    return reply_json(reply, 200, list);
}

/* GET ?ids=a&ids=b -> 200 [Info | null] | 422 */
static int conversation_batch(const struct request *request, struct reply *reply, struct error *err)
{
    struct uuid ids[BATCH_MAX_IDS];
    size_t n = 0;
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    const struct conversation_scope scope = principal_scope(&request->principal);
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (read_ids(request, ids, &n, err) < 0 || info_skills_read(request, &skills, err) < 0)
        return -1;
    if (skills == INFO_WITH_SKILLS)
        return batch_with_skills(request, ids, n, reply, err);
    if (info_store_load_many(request->context->db, &scope, ids, n, &list, err) < 0 ||
        info_append_array(&list, ids, n, &text, err) < 0)
        return -1;
    return reply_json_text(reply, 200, &text);
}

static int read_filter(const struct request *request, struct conversation_filter *filter,
                       struct error *err)
{
    size_t order = SORT_CREATED_DESC;
    size_t status = ARRAY_SIZE(statuses) - 1;
    const char *page_id = request_query(request, "page_id");

    filter->scope = principal_scope(&request->principal);
    if (request_query_limit(request, &filter->limit, err) < 0 ||
        request_query_choice(request, "sort_order", sort_orders, &order, err) < 0 ||
        request_query_choice(request, "status", statuses, &status, err) < 0)
        return -1;
    filter->by_updated = order == SORT_UPDATED || order == SORT_UPDATED_DESC;
    filter->ascending = order == SORT_CREATED || order == SORT_UPDATED;
    filter->status = statuses[status];
    if (page_id != NULL && !uuid_parse(page_id, &filter->from_id))
        filter->from_id = (struct uuid)UUID_INIT;
    return 0;
}

static json_t *next_page_id(const struct uuid *next_id)
{
    char hex[UUID_HEX_BYTES];

    if (!uuid_is_set(next_id))
        return json_null();
    uuid_to_hex(next_id, hex);
    return json_text_of(hex);
}

static int search_with_skills(const struct request *request,
                              const struct conversation_filter *filter, struct reply *reply,
                              struct error *err)
{
    CLEANUP(conversation_page_done) struct conversation_page page = {0};
    json_auto_t *json = json_object();
    json_t *items = NULL;

    if (conversation_store_search(request->context->db, filter, &page, err) < 0)
        return -1;
    items = info_array(request, page.items, page.n, INFO_WITH_SKILLS, err);
    if (items == NULL)
        return -1;
    json_put(json, "items", items);
    json_put(json, "next_page_id", next_page_id(&page.next_id));
    return reply_json(reply, 200, json);
}

/* GET -> 200 {"items":[Info],"next_page_id"} | 422 */
static int conversation_search(const struct request *request, struct reply *reply,
                               struct error *err)
{
    struct conversation_filter filter = {.from_id = UUID_INIT};
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *next = NULL;

    if (read_filter(request, &filter, err) < 0 || info_skills_read(request, &skills, err) < 0)
        return -1;
    if (skills == INFO_WITH_SKILLS)
        return search_with_skills(request, &filter, reply, err);
    if (info_store_search(request->context->db, &filter, &list, err) < 0)
        return -1;
    strbuf_append(&text, "{\"items\":");
    if (info_append_array(&list, NULL, 0, &text, err) < 0)
        return -1;
    next = next_page_id(&list.next_id);
    strbuf_append(&text, ",\"next_page_id\":");
    json_append_text(&text, next);
    strbuf_append_char(&text, '}');
    return reply_json_text(reply, 200, &text);
}

/* GET -> 200 number */
static int conversation_count(const struct request *request, struct reply *reply, struct error *err)
{
    struct conversation_filter filter = {.from_id = UUID_INIT};
    json_auto_t *json = NULL;
    int64_t n = 0;

    if (read_filter(request, &filter, err) < 0 ||
        conversation_store_count(request->context->db, &filter, &n, err) < 0)
        return -1;
    json = json_integer((json_int_t)n);
    return reply_json(reply, 200, json);
}

/* In the sandbox: ends its shells, and deletes stored call results. */
static void forget_in_sandbox(const struct request *request, struct conversation *conversation,
                              const struct uuid_list *sub_agents)
{
    struct uuid id = conversation->id;

    for (size_t i = 0; i < sub_agents->n; i++) {
        conversation->id = sub_agents->items[i];
        sandbox_notify_deleted(request, conversation);
    }
    conversation->id = id;
    sandbox_notify_deleted(request, conversation);
}

/* DELETE -> 200 Success | 404. Deletes its events; files in a shared workspace stay. */
static int conversation_delete(const struct request *request, struct reply *reply,
                               struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(uuid_list_done) struct uuid_list sub_agents = {NULL, 0};
    const struct conversation_scope scope = principal_scope(&request->principal);

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0 ||
        conversation_store_list_sub_agents(request->context->db, &conversation.id, &sub_agents,
                                           err) < 0)
        return -1;
    if (conversation_store_delete(request->context->db, &scope, &conversation.id, err) < 0)
        return agent_unknown(UNKNOWN_PLAIN, &conversation.id, err);
    forget_in_sandbox(request, &conversation, &sub_agents);
    return reply_success(reply);
}

const struct route conversation_read_routes[] = {
    {HTTP_GET, "/api/conversations", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0,
     conversation_batch},
    {HTTP_GET, "/api/conversations/search", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0,
     conversation_search},
    {HTTP_GET, "/api/conversations/count", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0,
     conversation_count},
    {HTTP_GET, "/api/conversations/{conversation_id}", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0,
     conversation_get},
    {HTTP_DELETE, "/api/conversations/{conversation_id}", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, 0, conversation_delete},
    {.handle = NULL},
};
