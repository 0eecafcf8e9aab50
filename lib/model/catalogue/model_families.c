#include "model/catalogue/model_families.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/text_folder.h"
#include "model/catalogue/tsv.h"

#define NO_SECTION "-"

void model_families_done(struct model_families *families)
{
    if (families == NULL)
        return;
    for (size_t i = 0; i < families->n; i++) {
        mem_free(families->items[i].part);
        text_template_done(&families->items[i].text);
    }
    mem_free(families->items);
    *families = (struct model_families){NULL, 0};
}

static int read_text(const struct text_folder *folder, const struct tsv *table,
                     struct model_family *family, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    const struct text_rules rules = {.parts = NULL};
    const struct text_file *file = NULL;

    if (text_equal(table->fields[1], NO_SECTION))
        return 0;
    strbuf_appendf(&name, MODEL_FAMILIES_TEXT "%s.txt", table->fields[1]);
    file = text_folder_find(folder, name.text);
    if (file == NULL)
        return error_set(err, ERROR_INVALID, "%s:%zu: there is no file %s", table->file->path,
                         table->line, name.text);
    return text_template_read(file, &rules, &family->text, err);
}

static int read_row(const struct text_folder *folder, const struct tsv *table,
                    struct model_families *families, struct error *err)
{
    struct model_family *family = NULL;

    if (table->n != 2 || table->fields[0][0] == '\0')
        return error_set(err, ERROR_INVALID,
                         "%s:%zu: a row is a part of a model's name, a tab and a section's name",
                         table->file->path, table->line);
    families->items = mem_resize(families->items, (families->n + 1) * sizeof(*families->items));
    family = &families->items[families->n++];
    *family = (struct model_family){.part = mem_dup_text(table->fields[0])};
    return read_text(folder, table, family, err);
}

static int read_rows(const struct text_folder *folder, struct tsv *table,
                     struct model_families *families, struct error *err)
{
    while (tsv_next(table)) {
        if (read_row(folder, table, families, err) < 0)
            return -1;
    }
    return 0;
}

int model_families_read(const struct text_folder *folder, struct model_families *families_out,
                        struct error *err)
{
    CLEANUP(model_families_done) struct model_families families = {NULL, 0};
    CLEANUP(tsv_done) struct tsv table = {.row = STRBUF_INIT};
    const struct text_file *file = text_folder_find(folder, MODEL_FAMILIES_FILE);

    if (file == NULL)
        return error_set(err, ERROR_INVALID, "the catalogue has no file %s", MODEL_FAMILIES_FILE);
    tsv_init(&table, file);
    if (read_rows(folder, &table, &families, err) < 0)
        return -1;
    *families_out = families;
    families = (struct model_families){NULL, 0};
    return 0;
}

const char *model_families_text(const struct model_families *families, const char *model)
{
    for (size_t i = 0; i < families->n; i++) {
        const struct model_family *family = &families->items[i];

        if (strstr(model, family->part) != NULL)
            return text_template_part(&family->text, "");
    }
    return "";
}
