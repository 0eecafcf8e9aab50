/*
 * Any start request is accepted or refused, and what is accepted can be shown.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "json_setup.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "unit/support/test_catalogue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(struct conversation *conversation, json_t *content)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *info = conversation_info(conversation);
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct error err = ERROR_INIT;

    conversation_append_snapshot(conversation, 1, &text);
    assert(json_object_size(info) > 0);
    if (content == NULL)
        conversation_plan_run(test_catalogue(), conversation, &events, &change);
    else if (conversation_plan_message(
                 conversation,
                 &(struct planned_message){test_catalogue(), content, MESSAGE_AND_RUN}, &events,
                 &change, &err) < 0)
        return;
    for (size_t i = 0; i < events.n; i++)
        event_append_body(&events.items[i], &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct conversation_defaults defaults = {RUNTIME_LOCAL, "scripted/hello", NULL, false};
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *request = NULL;
    json_auto_t *content = NULL;
    json_auto_t *problems = NULL;

    if (json_parse((const char *)data, size, &request, &err) < 0)
        return 0;
    if (conversation_from_request(request, &defaults, &conversation, &secrets, &content, &problems,
                                  &err) < 0) {
        assert(json_array_size(problems) > 0);
        return 0;
    }
    show(&conversation, content);
    return 0;
}
