#include "store/user/profile_store.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/secrets/secret_walk.h"

json_t *profile_document_llm(const struct document *document)
{
    json_t *llm = json_deep_copy(document->body);

    secrets_restore(&llm_secrets, llm, document->secrets);
    return llm;
}

int profile_store_resolve_llm(const struct document_scope *scope, json_t *llm, struct error *err)
{
    CLEANUP(document_done) struct document connection = DOCUMENT_INIT;
    const char *id = json_text_or(llm, "provider_connection_id", "");

    if (id[0] == '\0' || !text_is_blank(json_text_or(llm, "api_key", "")))
        return 0;
    if (document_store_get(scope, COLLECTION_CONNECTIONS, id, &connection, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_INVALID, "Provider connection '%s' not found", id)
                   : -1;
    json_put_text(llm, "api_key", json_text_or(connection.secrets, "api_key", ""));
    if (json_text_or(llm, "base_url", NULL) == NULL)
        json_put_text(llm, "base_url", json_text_or(connection.body, "base_url", NULL));
    return 0;
}

int profile_store_load_llm(const struct document_scope *scope, const char *name, json_t **llm_out,
                           struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    json_auto_t *llm = NULL;

    if (document_store_get(scope, COLLECTION_PROFILES, name, &profile, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Profile '%s' not found", name);
    llm = profile_document_llm(&profile);
    if (profile_store_resolve_llm(scope, llm, err) < 0)
        return -1;
    *llm_out = json_incref(llm);
    return 0;
}
