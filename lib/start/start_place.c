#include "start/start_place.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "start/start_context.h"
#include "store/conversation/conversation_store.h"

static void share_sandbox(struct conversation *conversation, const char *session)
{
    mem_free(conversation->runtime_session);
    conversation->runtime_kind = RUNTIME_LOCAL;
    conversation->runtime_session = mem_dup_text(session);
}

static void own_sandbox(struct conversation *conversation)
{
    mem_free(conversation->runtime_session);
    conversation->runtime_kind = RUNTIME_DOCKER;
    conversation->runtime_session =
        conversation_own_session(&conversation->user_id, &conversation->id);
}

static int choose_sandbox(const struct start_context *context, struct conversation *conversation,
                          struct error *err)
{
    const struct start_caller *caller = &context->caller;

    conversation->user_id = caller->scope.user_id;
    if (conversation->runtime_kind == RUNTIME_LOCAL) {
        share_sandbox(conversation, caller->runtime_session);
        return 0;
    }
    if (caller->kind == START_BY_SANDBOX)
        return error_set(err, ERROR_INVALID,
                         "A sandbox's key starts conversations in that sandbox only");
    own_sandbox(conversation);
    return 0;
}

/* A child has its parent's working directory, and the caller must be able to see the parent. */
static int check_parent(const struct start_context *context, const struct conversation *child,
                        struct error *err)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;

    if (!uuid_is_set(&child->parent_id))
        return 0;
    if (conversation_store_load(context->db, &context->caller.scope, &child->parent_id, &parent,
                                err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_INVALID, "Parent conversation not found: %s",
                               child->parent_id.text)
                   : -1;
    if (!text_equal(conversation_working_dir(&parent), conversation_working_dir(child)))
        return error_set(err, ERROR_INVALID,
                         "A child conversation must use its parent's workspace");
    return conversation_store_check_child(context->db, &child->parent_id, err);
}

int start_place(const struct start_context *context, struct conversation *conversation,
                struct error *err)
{
    if (choose_sandbox(context, conversation, err) < 0)
        return -1;
    return check_parent(context, conversation, err);
}

int start_place_child(const struct start_context *context, const struct conversation *parent,
                      struct conversation *child, struct error *err)
{
    child->user_id = parent->user_id;
    child->parent_id = parent->id;
    share_sandbox(child, parent->runtime_session);
    return conversation_store_check_child(context->db, &parent->id, err);
}

void start_place_copy(const struct start_context *context, const struct conversation *source,
                      struct conversation *copy)
{
    copy->user_id = source->user_id;
    if (source->runtime_kind == RUNTIME_LOCAL || context->caller.kind == START_BY_SANDBOX)
        share_sandbox(copy, source->runtime_session);
    else
        own_sandbox(copy);
}

void start_place_copy_apart(const struct conversation *source, struct conversation *copy)
{
    copy->user_id = source->user_id;
    own_sandbox(copy);
}
