#include "fcgi/agent/workspace/project_files.h"

#include "base/error.h"
#include "base/json.h"
#include "fcgi/core/request.h"
#include "fcgi/sandbox/sandbox_request.h"

enum { READ_MS = 60000 };

static void add_place(json_t *places, const char *folder, const struct file_place *place)
{
    json_t *json = json_object();
    json_t *names = json_array();

    for (const char *const *name = place->names; *name != NULL; name++)
        json_push(names, json_text_of(*name));
    json_put_text(json, "folder", folder);
    json_put_text(json, "sub", place->sub);
    json_put(json, "names", names);
    json_put(json, "depth", json_integer(place->depth));
    json_put(json, "with_root", json_true());
    json_push(places, json);
}

/* The user's places get the first numbers, used or not, so that a number identifies its place. */
static json_t *places_of(const struct project_question *question)
{
    json_t *places = json_array();

    for (size_t i = 0; i < question->n_places; i++)
        add_place(places, question->with_user ? "~" : "", &question->places[i]);
    for (size_t i = 0; i < question->n_places && question->project_dir != NULL; i++)
        add_place(places, question->project_dir, &question->places[i]);
    return places;
}

int project_files_read(const struct request *request, const struct project_question *question,
                       json_t **files_out, struct error *err)
{
    json_auto_t *body = json_object();
    json_auto_t *answer = NULL;
    const struct sandbox_request ask = {.owner = {&request->principal, NULL},
                                        .path = "/files/collect",
                                        .body = body,
                                        .timeout_ms = READ_MS};

    *files_out = NULL;
    if (!question->with_user && question->project_dir == NULL) {
        *files_out = json_array();
        return 0;
    }
    json_put(body, "places", places_of(question));
    if (sandbox_request_send(request->context, &ask, &answer, err) < 0)
        return -1;
    *files_out = json_incref(json_object_get(answer, "files"));
    if (*files_out == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox's reply is not valid");
    return 0;
}

bool project_files_get(const struct project_question *question, const json_t *files, size_t i,
                       struct project_file *file_out)
{
    const json_t *file = json_array_get(files, i);
    json_int_t number = json_int_or(file, "place", -1);
    json_int_t n_places = (json_int_t)question->n_places;

    if (file == NULL || number < 0 || number >= 2 * n_places)
        return false;
    *file_out = (struct project_file){.place = &question->places[number % n_places],
                                      .is_users = number < n_places,
                                      .path = json_text_or(file, "path", ""),
                                      .text = json_text_or(file, "text", "")};
    return true;
}
