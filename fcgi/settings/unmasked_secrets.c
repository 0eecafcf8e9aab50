/*
 * The warning about stored secrets that are too short to be masked.
 */
#include "fcgi/agent/agent.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/reply.h"
#include "model/limits.h"
#include "model/secrets/secret_registry.h"

#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)
#define MIN_CHARS 6
_Static_assert(MIN_CHARS == SECRET_MASKED_MIN_CHARS, "the words name the bound");

void agent_warn_unmasked(struct reply *reply, const json_t *update, json_t *body)
{
    CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;

    secret_registry_append_unmasked(update, &names);
    if (names.len == 0)
        return;
    strbuf_appendf(&words,
                   "These secrets are kept, but not hidden in events and outputs, since their "
                   "values have fewer than " TEXT(MIN_CHARS) " characters: %s. Use longer values.",
                   names.text);
    strbuf_appendf(&header, "299 deft \"%s\"", words.text);
    reply_header(reply, "Warning", header.text);
    if (body != NULL)
        json_put_text(body, "warning", words.text);
}
