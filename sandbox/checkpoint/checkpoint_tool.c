#include "sandbox/checkpoint/checkpoint_tool.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/checkpoint/checkout.h"
#include "sandbox/checkpoint/file_snapshot.h"
#include "sandbox/checkpoint/object_store.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/git/workspace_repository.h"

enum { SNAPSHOT_MS = 60000 };

int checkpoint_tool_check(const json_t *args, struct error *err)
{
    struct object_id id = OBJECT_ID_INIT;

    if (!object_id_read(json_text_or(args, "id", NULL), &id))
        return error_set(err, ERROR_INVALID, "args.id must be the id of a checkpoint");
    return 0;
}

static json_t *make_observation(json_t *facts, const char *words, bool is_error)
{
    json_put(facts, "content", action_observation_content(words, strlen(words)));
    json_put(facts, "is_error", json_boolean(is_error));
    json_put_text(facts, "kind", "CheckpointObservation");
    return facts;
}

json_t *checkpoint_tool_failure(const char *why)
{
    return make_observation(json_object(), why, true);
}

/* The checkpoint of the present files is taken first, and told even if the rest fails. */
static int set_back(const struct checkpoint_call *call, json_t *facts, struct error *err)
{
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot present = FILE_SNAPSHOT_INIT;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;
    struct object_id wanted = OBJECT_ID_INIT;
    int rc = 0;

    if (!object_id_read(json_text_or(call->args, "id", NULL), &wanted))
        return error_set(err, ERROR_INVALID, "args.id must be the id of a checkpoint");
    if (workspace_repository_make_folder(call->working_dir, err) < 0 ||
        object_store_open(&store, call->folder, &object_store_default_limits, err) < 0 ||
        file_snapshot_take(&store, call->working_dir, clock_monotonic_ms() + SNAPSHOT_MS, &present,
                           err) < 0)
        return -1;
    json_put_text(facts, "before", present.tree.hex);
    rc = checkout_run(&(struct checkout_order){&store, call->working_dir, &present.files, &wanted,
                                               call->deadline_ms},
                      &result, err);
    json_put(facts, "n_written", json_integer((json_int_t)result.n_written));
    json_put(facts, "n_removed", json_integer((json_int_t)result.n_removed));
    json_put(facts, "kept", json_incref(result.kept));
    return rc;
}

json_t *checkpoint_tool_run(const void *what)
{
    const struct checkpoint_call *call = what;
    json_t *facts = json_object();
    struct error err = ERROR_INIT;
    int rc = set_back(call, facts, &err);

    return make_observation(facts, rc < 0 ? err.message : "The files were set back.", rc < 0);
}
