#include "sandbox/checkpoint/file_list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { FIRST_SIZE = 64, NS_PER_S = 1000000000 };

/* A file in a kept list, followed by its path. Read by the version that wrote it only. */
struct kept_file {
    struct file_state state;
    struct object_id id;
    uint32_t mode;
    uint32_t path_len;
};

static const char magic[8] = "deft-fl1";

void file_list_done(struct file_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        mem_free(list->items[i].path);
    mem_free(list->items);
    *list = (struct file_list)FILE_LIST_INIT;
}

int file_list_add(struct file_list *list, const char *path, uint32_t mode,
                  struct listed_file **file_out, struct error *err)
{
    if (list->n == FILE_LIST_MAX)
        return error_set(err, ERROR_TOO_LARGE, "More than %d files", FILE_LIST_MAX);
    if (list->n == list->size) {
        list->size = list->size > 0 ? 2 * list->size : FIRST_SIZE;
        list->items = mem_resize(list->items, list->size * sizeof(*list->items));
    }
    list->items[list->n] = (struct listed_file){
        .path = mem_dup_text(path), .mode = mode, .id = OBJECT_ID_INIT, .state = {.size = -1}};
    *file_out = &list->items[list->n++];
    return 0;
}

void file_list_drop_empty(struct file_list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].id.hex[0] != '\0')
            list->items[n++] = list->items[i];
        else
            mem_free(list->items[i].path);
    }
    list->n = n;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct listed_file *)a)->path, ((const struct listed_file *)b)->path);
}

void file_list_sort(struct file_list *list)
{
    if (list->n > 0)
        qsort(list->items, list->n, sizeof(*list->items), compare);
}

const struct listed_file *file_list_find(const struct file_list *list, const char *path)
{
    size_t low = 0;
    size_t high = list->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(list->items[middle].path, path);

        if (order == 0)
            return &list->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int64_t to_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

struct file_state file_state_of(const struct stat *info)
{
    return (struct file_state){.size = info->st_size,
                               .modified_ns = to_ns(&info->st_mtim),
                               .changed_ns = to_ns(&info->st_ctim),
                               .inode = info->st_ino};
}

/* --- kept lists --- */

static void append_name(const char *workspace, struct strbuf *name)
{
    char hex[CRYPTO_HASH_HEX_BYTES];

    crypto_sha256_hex(workspace, strlen(workspace), hex);
    strbuf_appendf(name, "files-%s", hex);
}

int file_list_save(const struct file_list *list, struct object_store *store, const char *workspace,
                   struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;

    append_name(workspace, &name);
    strbuf_append_bytes(&bytes, magic, sizeof(magic));
    for (size_t i = 0; i < list->n; i++) {
        const struct listed_file *file = &list->items[i];
        const struct kept_file kept = {.state = file->state,
                                       .id = file->id,
                                       .mode = file->mode,
                                       .path_len = (uint32_t)strlen(file->path)};

        if (file->id.hex[0] == '\0')
            continue;
        strbuf_append_bytes(&bytes, &kept, sizeof(kept));
        strbuf_append_bytes(&bytes, file->path, kept.path_len);
    }
    return object_store_put_note(store, name.text, &bytes, err);
}

/* Reads one file; false at the end, and where the list is damaged. */
static bool read_kept(struct file_list *list, const struct strbuf *bytes, size_t *at)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct kept_file kept = {.path_len = 0};
    struct listed_file *file = NULL;
    struct error ignored = ERROR_INIT;

    if (bytes->len - *at < sizeof(kept))
        return false;
    memcpy(&kept, bytes->text + *at, sizeof(kept));
    *at += sizeof(kept);
    if (kept.path_len > FILE_PATH_MAX_BYTES || kept.path_len > bytes->len - *at)
        return false;
    strbuf_append_bytes(&path, bytes->text + *at, kept.path_len);
    *at += kept.path_len;
    kept.id.hex[sizeof(kept.id.hex) - 1] = '\0';
    if (file_list_add(list, path.text, kept.mode, &file, &ignored) < 0)
        return false;
    file->state = kept.state;
    return object_id_read(kept.id.hex, &file->id);
}

void file_list_load(struct file_list *list, const struct object_store *store, const char *workspace)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    size_t at = sizeof(magic);

    append_name(workspace, &name);
    if (object_store_get_note(store, name.text, &bytes, &ignored) < 0 ||
        bytes.len < sizeof(magic) || memcmp(bytes.text, magic, sizeof(magic)) != 0)
        return;
    while (read_kept(list, &bytes, &at)) {
    }
    file_list_drop_empty(list);
    file_list_sort(list);
}
