#include "model/conversation/preview.h"

#include <stdint.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { PORT_MAX = 65535 };

const struct preview_port preview_ports[PREVIEW_N_NAMED] = {
    {"VSCODE", "vscode", PREVIEW_EDITOR_PORT},
    {"WORKER_1", "work-1", 12000},
    {"WORKER_2", "work-2", 12001},
};

int preview_port_of_label(const char *label)
{
    struct error ignored = ERROR_INIT;
    int64_t port = 0;

    for (size_t i = 0; i < PREVIEW_N_NAMED; i++) {
        if (text_equal(label, preview_ports[i].label))
            return preview_ports[i].port;
    }
    /* "08080" and "+8080" would be other origins of the same port. */
    if (label[0] < '1' || label[0] > '9' || text_parse_int(label, 1, PORT_MAX, &port, &ignored) < 0)
        return 0;
    return (int)port;
}

bool preview_port_is_allowed(int port)
{
    return port >= 1 && port <= PORT_MAX && port != PREVIEW_ACTION_PORT;
}

void preview_append_url(struct strbuf *out, const char *app_url, const char *runtime_id, int port)
{
    const char *mark = strstr(app_url, "://");
    const char *authority = mark != NULL ? mark + strlen("://") : app_url;

    strbuf_append_bytes(out, app_url, (size_t)(authority - app_url));
    strbuf_appendf(out, "%d-%s.sandbox.%s", port, runtime_id, authority);
}

void preview_editor_token(const char *session_key, char token_out[PREVIEW_EDITOR_TOKEN_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    strbuf_appendf(&text, "deft editor:%s", session_key);
    crypto_sha256_hex(text.text, text.len, hash);
    memcpy(token_out, hash, PREVIEW_EDITOR_TOKEN_BYTES - 1);
    token_out[PREVIEW_EDITOR_TOKEN_BYTES - 1] = '\0';
    explicit_bzero(text.text, text.len);
}
