#include "auth/credential_header.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/async_store.h"

static const char *const kinds[] = {
    [CALLER_USER_KEY] = "key ",
    [CALLER_SESSION] = "session ",
    [CALLER_SANDBOX_KEY] = "sandbox ",
};

void credential_header_append(const struct caller_query *query, struct strbuf *out)
{
    strbuf_append(out, kinds[query->kind]);
    strbuf_append(out, query->hash);
}

static bool is_hash(const char *text)
{
    size_t len = strlen(text);

    return len == CRYPTO_HASH_HEX_BYTES - 1 && strspn(text, "0123456789abcdef") == len;
}

bool credential_header_read(const char *text, struct caller_query *query_out)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        const char *hash = text + strlen(kinds[i]);

        if (!text_starts_with(text, kinds[i]) || !is_hash(hash))
            continue;
        query_out->kind = (enum caller_kind)i;
        memcpy(query_out->hash, hash, sizeof(query_out->hash));
        return true;
    }
    return false;
}
