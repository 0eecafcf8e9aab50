#include "model/conversation/sealed_secrets.h"

#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"

static void append_context(const struct conversation *conversation, struct strbuf *out)
{
    strbuf_appendf(out, "conversations.secrets:%s", conversation->id.text);
}

int sealed_secrets_open(const struct keyring *keyring, const struct conversation *conversation,
                        json_t **secrets_out, struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

    if (conversation->secrets == NULL) {
        *secrets_out = json_object();
        return 0;
    }
    append_context(conversation, &context);
    if (keyring_open(keyring, context.text, conversation->secrets, &plain, err) < 0 ||
        json_parse(secret_reveal(&plain), plain.len, secrets_out, err) < 0)
        return error_set(err, ERROR_INTERNAL, "the secrets of conversation %s cannot be decrypted",
                         conversation->id.text);
    return 0;
}

char *sealed_secrets_seal_text(const struct keyring *keyring,
                               const struct conversation *conversation,
                               const struct secret *secrets)
{
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;

    append_context(conversation, &context);
    keyring_seal(keyring, context.text, secrets, &sealed);
    return strbuf_take(&sealed);
}

char *sealed_secrets_seal(const struct keyring *keyring, const struct conversation *conversation,
                          const json_t *secrets)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(mem_freep) char *text = json_to_text(secrets);

    secret_set(&plain, text);
    explicit_bzero(text, strlen(text));
    return sealed_secrets_seal_text(keyring, conversation, &plain);
}

int sealed_secrets_copy(const struct keyring *keyring, const struct conversation *from,
                        const struct conversation *to, char **sealed_out, struct error *err)
{
    json_auto_t *secrets = NULL;

    if (from->secrets == NULL) {
        *sealed_out = NULL;
        return 0;
    }
    if (sealed_secrets_open(keyring, from, &secrets, err) < 0)
        return -1;
    *sealed_out = sealed_secrets_seal(keyring, to, secrets);
    return 0;
}
