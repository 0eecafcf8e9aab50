#include "model/plugins/project_files.h"

#include <string.h>

#include "base/json.h"

bool project_question_asks(const struct project_question *question)
{
    return question->with_user || question->project_dir != NULL;
}

static void add_place(json_t *places, const char *folder, const struct file_place *place,
                      const struct project_question *question)
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
    if (place->is_beneath)
        json_put(json, "is_beneath", json_true());
    if (question->with_clone && folder == question->project_dir)
        json_put(json, "with_clone", json_true());
    json_push(places, json);
}

/* The user's places get the first numbers, used or not, so that a number identifies its place. */
static json_t *places_of(const struct project_question *question)
{
    json_t *places = json_array();

    for (size_t i = 0; i < question->n_places; i++)
        add_place(places, question->with_user && !question->places[i].is_beneath ? "~" : "",
                  &question->places[i], question);
    for (size_t i = 0; i < question->n_places && question->project_dir != NULL; i++)
        add_place(places, question->project_dir, &question->places[i], question);
    return places;
}

json_t *project_files_request(const struct project_question *question)
{
    json_t *body = json_object();

    json_put(body, "places", places_of(question));
    if (question->with_summary && question->project_dir != NULL)
        json_put_text(body, "summary_of", question->project_dir);
    return body;
}

bool project_path_is_valid(const char *path)
{
    size_t len = strnlen(path, PROJECT_FILE_PATH_MAX_BYTES + 1);

    if (path[0] != '/' || len > PROJECT_FILE_PATH_MAX_BYTES)
        return false;
    for (const char *at = path; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            return false;
    }
    return true;
}

bool project_files_get(const struct project_question *question, const json_t *files, size_t i,
                       struct project_file *file_out)
{
    const json_t *file = json_array_get(files, i);
    json_int_t number = json_int_or(file, "place", -1);
    json_int_t n_places = (json_int_t)question->n_places;
    const char *path = json_text_or(file, "path", "");
    const char *text = json_text_or(file, "text", NULL);

    if (file == NULL || i >= PROJECT_FILES_MAX || number < 0 || number >= 2 * n_places ||
        text == NULL || strnlen(text, PROJECT_FILE_MAX_BYTES + 1) > PROJECT_FILE_MAX_BYTES ||
        !project_path_is_valid(path))
        return false;
    *file_out = (struct project_file){.place = &question->places[number % n_places],
                                      .is_users = number < n_places,
                                      .path = path,
                                      .text = text};
    return true;
}
