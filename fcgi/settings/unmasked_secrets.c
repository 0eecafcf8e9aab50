#include "fcgi/settings/unmasked_secrets.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/core/reply.h"
#include "model/limits.h"
#include "model/secrets/secret_registry.h"

#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)
#define MIN_CHARS 6
_Static_assert(MIN_CHARS == SECRET_MASKED_MIN_CHARS, "the message names the limit");

void unmasked_secrets_warn(struct reply *reply, const json_t *update, json_t *body)
{
    CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;

    secret_registry_append_unmasked(update, &names);
    if (names.len == 0)
        return;
    strbuf_appendf(&words,
                   "These secrets are stored but not masked in events and outputs, because their "
                   "values have fewer than " TEXT(MIN_CHARS) " characters: %s. Use longer values.",
                   names.text);
    strbuf_appendf(&header, "299 deft \"%s\"", words.text);
    reply_header(reply, "Warning", header.text);
    if (body != NULL)
        json_put_text(body, "warning", words.text);
}
