#include "fcgi/agent/agent_api.h"

#include "auth/principal.h"
#include "base/error.h"
#include "fcgi/core/fcgi_context.h"
#include "store/conversation/conversation_store.h"
#include "web/reply_status.h"

int agent_conversation_id(const struct request *request, struct uuid *id_out, struct error *err)
{
    return request_path_uuid(request, "conversation_id", id_out, err);
}

int agent_unknown(enum unknown_words words, const struct uuid *id, struct error *err)
{
    /* A write without a guard fails as stale when the conversation was deleted during it. */
    if (err->code != ERROR_NOT_FOUND && err->code != ERROR_STALE)
        return -1;
    if (words == UNKNOWN_PLAIN)
        return error_set(err, ERROR_NOT_FOUND, "%s", reply_phrase(404));
    return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", id->text);
}

static int load(const struct request *request, const struct uuid *id, enum unknown_words words,
                struct conversation *conversation_out, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);

    if (conversation_store_load(request->context->db, &scope, id, conversation_out, err) < 0)
        return agent_unknown(words, id, err);
    return 0;
}

int agent_load_conversation(const struct request *request, enum unknown_words words,
                            struct conversation *conversation_out, struct error *err)
{
    struct uuid id = UUID_INIT;

    if (agent_conversation_id(request, &id, err) < 0)
        return -1;
    return load(request, &id, words, conversation_out, err);
}

int agent_load_runtime_conversation(const struct request *request,
                                    struct conversation *conversation_out, struct error *err)
{
    struct uuid id = UUID_INIT;

    if (request_path_uuid(request, "runtime_conversation_id", &id, err) < 0)
        return -1;
    return load(request, &id, UNKNOWN_NAMED, conversation_out, err);
}

int agent_check_room(const struct request *request, const struct uuid *id, struct error *err)
{
    const struct fcgi_context *context = request->context;
    const struct conversation_scope scope = principal_scope(&request->principal);
    const struct run_seeker seeker = {&request->principal.user_id, id};
    struct error unknown = ERROR_INIT;

    if (conversation_store_check_room(context->db, &seeker, &context->settings->run_limits, err) ==
        0)
        return 0;
    if (err->code != ERROR_RATE_LIMITED)
        return -1;
    /*
     * "Try again later" would be wrong for an unknown conversation: the caller reports that in its
     * own words.
     */
    if (conversation_store_check(context->db, &scope, id, &unknown) < 0 &&
        unknown.code == ERROR_NOT_FOUND)
        return 0;
    return -1;
}
