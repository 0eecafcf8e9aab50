/*
 * Preview URLs of a sandbox's servers, in the form sent to clients.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/preview/preview_origin.h"
#include "model/conversation/preview.h"

void preview_push_url(json_t *list, const char *name, const char *url, int port)
{
    json_t *entry = json_object();

    json_put_text(entry, "name", name);
    json_put_text(entry, "url", url);
    json_put(entry, "port", json_integer(port));
    json_push(list, entry);
}

void preview_append_editor(const struct request *request, const char *runtime_id,
                           const struct preview_editor *editor, struct strbuf *out)
{
    preview_append_origin(request, runtime_id, PREVIEW_EDITOR_PORT, out);
    strbuf_append(out, "/?");
    if (editor->token[0] != '\0') {
        strbuf_append(out, "tkn=");
        percent_append(out, editor->token);
        strbuf_append(out, "&");
    }
    strbuf_append(out, "folder=");
    percent_append(out, editor->folder);
}

void preview_push_named(const struct request *request, const char *runtime_id,
                        const struct preview_editor *editor, json_t *list)
{
    preview_push_url(list, "AGENT_SERVER", request->context->settings->agent_url,
                     PREVIEW_ACTION_PORT);
    for (size_t i = 0; i < PREVIEW_N_NAMED; i++) {
        CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

        if (preview_ports[i].port == PREVIEW_EDITOR_PORT)
            preview_append_editor(request, runtime_id, editor, &url);
        else
            preview_append_origin(request, runtime_id, preview_ports[i].port, &url);
        preview_push_url(list, preview_ports[i].name, url.text, preview_ports[i].port);
    }
}
