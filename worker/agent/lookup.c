#include "worker/agent/lookup.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "model/secret_registry.h"
#include "store/document_store.h"
#include "worker/agent/agent.h"
#include "worker/agent/mask.h"
#include "worker/context.h"

static json_t *sources_of(const struct agent *agent)
{
    return json_object_get(json_object_get(agent->conversation.spec, "secret_registry"),
                           "secret_sources");
}

/* One that is gone, or out of reach, is as if it were not set: the command shows that to the model.
 */
static void look_up(struct agent *agent, const char *name, const char *stored_name)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    const struct shelf shelf = {agent->context->db, &agent->context->keyring,
                                agent->conversation.user_id};
    struct error err = ERROR_INIT;

    if (document_store_get(&shelf, COLLECTION_SECRETS, stored_name, &secret, &err) < 0) {
        log_warning("secret.not_found", LOG_STR("name", stored_name), LOG_ERROR(&err));
        return;
    }
    secret_list_set(&agent->secrets, name, json_text_or(secret.secrets, "value", ""));
}

/* command: NULL for all. */
static void look_up_sources(struct agent *agent, const char *command)
{
    const char *name = NULL;
    json_t *source = NULL;

    json_object_foreach (sources_of(agent), name, source) {
        const char *stored_name = secret_source_stored_name(source);

        if (stored_name != NULL && (command == NULL || secret_is_named(name, command)))
            look_up(agent, name, stored_name);
    }
}

void lookup_all(struct agent *agent)
{
    look_up_sources(agent, NULL);
}

void lookup_named(struct agent *agent, const char *command)
{
    look_up_sources(agent, command);
}
