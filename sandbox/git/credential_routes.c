#include "sandbox/git/credential_routes.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/core/action_server.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/git_address.h"
#include "sandbox/http/server_request.h"

enum { MAX_LIFETIME_S = 24 * 3600, DEFAULT_LIFETIME_S = 3600, MS_PER_S = 1000 };

static int take_credential(struct credentials *credentials, const json_t *body, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;
    int64_t lifetime_s = json_int_or(body, "expires_in_s", DEFAULT_LIFETIME_S);

    if (!git_address_origin(json_text_or(body, "url", ""), &origin))
        return error_set(err, ERROR_INVALID,
                         "url must be an https or http address without a password");
    if (lifetime_s < 1 || lifetime_s > MAX_LIFETIME_S)
        return error_set(err, ERROR_INVALID, "expires_in_s must be from 1 to %d", MAX_LIFETIME_S);
    return credentials_keep(credentials,
                            &(struct credential_order){
                                .origin = origin.text,
                                .username = json_text_or(body, "username", ""),
                                .password = json_text_or(body, "password", ""),
                                .lifetime_ms = lifetime_s * MS_PER_S,
                            },
                            err);
}

void credentials_handle(struct server_request *request)
{
    json_auto_t *body = NULL;
    json_auto_t *answer = json_object();
    struct error err = ERROR_INIT;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0 ||
        take_credential(request->server->credentials, body, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    explicit_bzero(request->body.text, request->body.len);
    json_put(answer, "success", json_true());
    server_request_answer_json(request, 200, answer);
}
