#include "start/sandbox_secret.h"

#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "start/start_context.h"
#include "store/user/document_store.h"
#include "store/user/secret_read_store.h"

int sandbox_secret_read(const struct start_context *context, const char *name,
                        struct document *secret_out, struct error *err)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    const struct document_scope scope = start_document_scope(context);

    if (document_store_get(&scope, COLLECTION_SECRETS, name, &secret, err) < 0)
        return -1;
    /* The read is recorded before the value is used. */
    if (secret_read_store_add(context->db, &context->caller.scope.user_id,
                              context->caller.runtime_id, name, err) < 0)
        return -1;
    *secret_out = secret;
    secret = (struct document)DOCUMENT_INIT;
    return 0;
}

const char *sandbox_secret_name(const struct start_context *context, const char *url)
{
    CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
    const char *scheme = strstr(url, "://");
    const char *path = scheme != NULL ? strchr(scheme + strlen("://"), '/') : url;
    const char *name = NULL;

    strbuf_appendf(&prefix, "/api/v1/sandboxes/%s/settings/secrets/", context->caller.runtime_id);
    if (path == NULL || context->caller.secrets != START_SECRETS_READABLE ||
        !text_starts_with(path, prefix.text))
        return NULL;
    name = path + prefix.len;
    return name[0] != '\0' && strpbrk(name, "/?#%") == NULL ? name : NULL;
}
