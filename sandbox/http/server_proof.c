#include "sandbox/http/prove.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/server.h"
#include "sandbox/http/request.h"

void prove_handle(struct request *request)
{
    CLEANUP(mem_freep) char *nonce = request_header(request, "x-deft-nonce");
    CLEANUP(strbuf_done) struct strbuf address = STRBUF_INIT;
    const struct secret *key = &request->server->config->proof_key;
    char proof[CRYPTO_HASH_HEX_BYTES] = "";
    json_auto_t *body = NULL;

    if (!secret_is_set(key)) {
        request_answer_detail(request, 404, "Not Found");
        return;
    }
    request_append_address(request, &address);
    if (nonce == NULL || !sandbox_nonce_is_valid(nonce) || address.len == 0) {
        request_answer_detail(request, 400, SANDBOX_NONCE_HEADER " should be 64 hex digits");
        return;
    }
    sandbox_proof_make(key, nonce, address.text, proof);
    body = json_object();
    json_put_text(body, "proof", proof);
    request_answer_json(request, 200, body);
}
