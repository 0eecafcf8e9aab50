#include "model/tools/mcp.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { METHOD_NOT_FOUND = -32601, ID_MAX_BYTES = 1000 };

static json_t *message(const char *method, json_t *params)
{
    json_t *json = json_object();

    json_put_text(json, "jsonrpc", "2.0");
    json_put_text(json, "method", method);
    json_put(json, "params", params);
    return json;
}

static json_t *request(json_int_t id, const char *method, json_t *params)
{
    json_t *json = message(method, params);

    json_put(json, "id", json_integer(id));
    return json;
}

json_t *mcp_initialize(json_int_t id)
{
    json_t *params = json_object();
    json_t *client = json_object();

    json_put_text(client, "name", "deft");
    json_put_text(client, "version", "1");
    json_put_text(params, "protocolVersion", MCP_VERSION);
    json_put(params, "capabilities", json_object());
    json_put(params, "clientInfo", client);
    return request(id, "initialize", params);
}

json_t *mcp_initialized(void)
{
    return message("notifications/initialized", NULL);
}

json_t *mcp_list_tools(json_int_t id, const char *cursor)
{
    json_t *params = json_object();

    json_put_text(params, "cursor", cursor);
    return request(id, "tools/list", params);
}

json_t *mcp_call_tool(json_int_t id, const char *name, json_t *arguments)
{
    json_t *params = json_object();

    json_put_text(params, "name", name);
    json_put(json_need_object(params, "_meta"), "progressToken", json_integer(id));
    json_put(params, "arguments", arguments != NULL ? json_incref(arguments) : json_object());
    return request(id, "tools/call", params);
}

json_t *mcp_cancelled(json_int_t id)
{
    json_t *params = json_object();

    json_put(params, "requestId", json_integer(id));
    json_put_text(params, "reason", "The user stopped the call");
    return message("notifications/cancelled", params);
}

/* A request's id is a text or an integer (JSON-RPC 2.0, section 4); longer texts are no ids. */
static bool is_id(const json_t *id)
{
    return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= ID_MAX_BYTES);
}

json_t *mcp_answer(const json_t *message)
{
    json_t *id = json_object_get(message, "id");
    const char *method = json_text_or(message, "method", NULL);
    json_t *answer = NULL;

    if (method == NULL || !is_id(id))
        return NULL;
    answer = json_object();
    json_put_text(answer, "jsonrpc", "2.0");
    json_put(answer, "id", json_incref(id));
    if (text_equal(method, "ping")) {
        json_put(answer, "result", json_object());
    } else {
        json_t *error = json_need_object(answer, "error");

        json_put(error, "code", json_integer(METHOD_NOT_FOUND));
        json_put_text(error, "message", "The client does not offer this");
    }
    return answer;
}

int mcp_result(const json_t *reply, const json_t **result_out, struct error *err)
{
    const json_t *error = json_object_get(reply, "error");
    const json_t *result = json_object_get(reply, "result");

    if (error != NULL && !json_is_null(error))
        return error_set(err, ERROR_INVALID, "The server says: %s",
                         json_text_or(error, "message", "an error without a message"));
    if (!json_is_object(result))
        return error_set(err, ERROR_INVALID, "The server's reply has no result");
    *result_out = result;
    return 0;
}

void mcp_add_tools(const json_t *result, json_t *tools)
{
    json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(result, "tools"), i, tool) {
        if (json_is_string(json_object_get(tool, "name")))
            json_push(tools, json_incref(tool));
    }
}

void mcp_add_tool_names(const json_t *tools, json_t *names)
{
    const json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool)
        json_push(names, json_incref(json_object_get(tool, "name")));
}

json_t *mcp_call_outcome(const json_t *result)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *outcome = json_object();
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(result, "content"), i, part) {
        strbuf_append(&text, text.len > 0 ? "\n" : "");
        strbuf_append(&text, json_text_or(part, "text", ""));
    }
    json_put(outcome, "is_error", json_boolean(json_bool_or(result, "isError", 0)));
    json_put(outcome, "text", json_text(text.text, text.len));
    return outcome;
}

/* Ids of the messages to a program. */
enum { GREETING_ID = 1, LIST_ID = 2, CALL_ID = 3 };

json_t *mcp_program_messages(bool with_list, const char *tool, json_t *arguments)
{
    json_t *messages = json_array();

    json_push(messages, mcp_initialize(GREETING_ID));
    json_push(messages, mcp_initialized());
    if (with_list)
        json_push(messages, mcp_list_tools(LIST_ID, NULL));
    if (tool != NULL)
        json_push(messages, mcp_call_tool(CALL_ID, tool, arguments));
    return messages;
}

int mcp_program_read(const json_t *replies, json_t *tools, json_t **result_out, struct error *err)
{
    json_auto_t *called = NULL;
    const json_t *result = NULL;
    json_t *reply = NULL;
    size_t i = 0;

    json_array_foreach (replies, i, reply) {
        json_int_t id = json_int_or(reply, "id", -1);

        if (mcp_result(reply, &result, err) < 0)
            return -1;
        if (id == CALL_ID && called == NULL)
            called = json_incref(json_object_get(reply, "result"));
        else if (id != GREETING_ID) /* the list; the sandbox chose the ids of its further pages */
            mcp_add_tools(result, tools);
    }
    *result_out = json_incref(called);
    return 0;
}
