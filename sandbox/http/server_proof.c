#include "sandbox/http/server_proof.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"

void server_proof_handle(struct server_request *request)
{
    CLEANUP(mem_freep) char *nonce = server_request_header(request, "x-deft-nonce");
    CLEANUP(strbuf_done) struct strbuf address = STRBUF_INIT;
    const struct secret *key = &request->server->config->proof_key;
    char proof[CRYPTO_HASH_HEX_BYTES] = "";
    json_auto_t *body = NULL;

    if (!secret_is_set(key)) {
        server_request_answer_detail(request, 404, "Not Found");
        return;
    }
    server_request_append_address(request, &address);
    if (nonce == NULL || !sandbox_nonce_is_valid(nonce) || address.len == 0) {
        server_request_answer_detail(request, 400, SANDBOX_NONCE_HEADER " should be 64 hex digits");
        return;
    }
    sandbox_proof_make(key, nonce, address.text, proof);
    body = json_object();
    json_put_text(body, "proof", proof);
    server_request_answer_json(request, 200, body);
}
