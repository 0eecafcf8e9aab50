#include "model/tools/mcp_progress.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

static const char *message_of(const json_t *json)
{
    const char *message = json_text_or(json, "message", "");

    return strlen(message) <= MCP_PROGRESS_MESSAGE_MAX_BYTES ? message : "";
}

bool mcp_progress_read(const json_t *json, struct mcp_progress *progress_out)
{
    double done = json_number_or(json, "progress", (double)NAN);
    double total = json_number_or(json, "total", 0);

    if (!isfinite(done))
        return false;
    *progress_out = (struct mcp_progress){
        .done = done,
        .total = isfinite(total) && total > 0 ? total : 0,
        .message = message_of(json),
    };
    return true;
}

bool mcp_progress_of(const json_t *notification, json_int_t token,
                     struct mcp_progress *progress_out)
{
    const json_t *params = json_object_get(notification, "params");
    const json_t *named = json_object_get(params, "progressToken");

    if (!text_equal(json_text_or(notification, "method", ""), "notifications/progress") ||
        !json_is_integer(named) || json_integer_value(named) != token)
        return false;
    return mcp_progress_read(params, progress_out);
}

json_t *mcp_progress_to_json(const struct mcp_progress *progress)
{
    json_t *json = json_object();

    json_put(json, "progress", json_real(progress->done));
    if (progress->total > 0)
        json_put(json, "total", json_real(progress->total));
    if (progress->message[0] != '\0')
        json_put_text(json, "message", progress->message);
    return json;
}
