#include "sandbox/search/found_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "sandbox/search/file_walk.h"

/* Room is made for this many more at a time. */
#define GROW 256

void found_files_done(struct search_results *files)
{
    if (files == NULL)
        return;
    for (size_t i = 0; i < files->n; i++)
        mem_free(files->items[i].path);
    mem_free(files->items);
    *files = (struct search_results)FOUND_FILES_INIT;
}

void found_files_add(struct search_results *files, const struct walked_file *file)
{
    if (files->n % GROW == 0)
        files->items = mem_resize(files->items, (files->n + GROW) * sizeof(*files->items));
    files->items[files->n++] = (struct found_file){mem_dup_text(file->path), file->changed_ns};
}

static int compare(const void *a, const void *b)
{
    const struct found_file *one = a;
    const struct found_file *other = b;

    if (one->changed_ns != other->changed_ns)
        return one->changed_ns > other->changed_ns ? -1 : 1;
    return strcmp(one->path, other->path);
}

json_t *found_files_to_json(struct search_results *files)
{
    json_t *paths = json_array();

    if (files->n > 0)
        qsort(files->items, files->n, sizeof(*files->items), compare);
    for (size_t i = 0; i < files->n && i < FOUND_SHOWN_MAX; i++)
        json_push(paths, json_text_of(files->items[i].path));
    return paths;
}
