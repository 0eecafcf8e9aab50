/* What a sandbox serves, as clients are told of it. */
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/context.h"
#include "fcgi/preview/preview.h"
#include "fcgi/request.h"
#include "model/preview.h"

void preview_push_url(json_t *list, const char *name, const char *url, int port)
{
    json_t *entry = json_object();

    json_put_text(entry, "name", name);
    json_put_text(entry, "url", url);
    json_put(entry, "port", json_integer(port));
    json_push(list, entry);
}

void preview_push_named(const struct request *request, const char *runtime_id, json_t *list)
{
    preview_push_url(list, "AGENT_SERVER", request->context->settings->agent_url,
                     PREVIEW_ACTION_PORT);
    for (size_t i = 0; i < PREVIEW_N_NAMED; i++) {
        CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

        preview_append_origin(request, runtime_id, preview_ports[i].port, &url);
        preview_push_url(list, preview_ports[i].name, url.text, preview_ports[i].port);
    }
}
