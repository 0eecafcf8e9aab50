#include "model/catalogue/catalogue.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/text_folder.h"
#include "model/catalogue/catalogue_texts.h"
#include "model/catalogue/model_families.h"
#include "model/catalogue/model_features.h"
#include "model/catalogue/model_table.h"

struct catalogue {
    struct text_template texts[CATALOGUE_N_TEXTS];
    struct model_families families;
    struct model_table models;
    struct model_features features;
};

void catalogue_free(struct catalogue *catalogue)
{
    if (catalogue == NULL)
        return;
    for (size_t i = 0; i < CATALOGUE_N_TEXTS; i++)
        text_template_done(&catalogue->texts[i]);
    model_families_done(&catalogue->families);
    model_table_done(&catalogue->models);
    model_features_done(&catalogue->features);
    mem_free(catalogue);
}

void catalogue_freep(struct catalogue **catalogue)
{
    catalogue_free(*catalogue);
    *catalogue = NULL;
}

static int read_texts(const struct text_folder *folder, struct catalogue *catalogue,
                      struct error *err)
{
    for (size_t i = 0; i < CATALOGUE_N_TEXTS; i++) {
        const struct text_source *source = &text_sources[i];
        const struct text_file *file = text_folder_find(folder, source->file);

        if (file == NULL)
            return error_set(err, ERROR_INVALID, "the catalogue has no file %s", source->file);
        if (text_template_read(file, &source->rules, &catalogue->texts[i], err) < 0)
            return -1;
    }
    return 0;
}

static bool is_known(const char *name)
{
    if (text_equal(name, MODEL_FAMILIES_FILE) || text_starts_with(name, MODEL_FAMILIES_TEXT) ||
        text_equal(name, MODEL_TABLE_FILE) || text_equal(name, MODEL_NAMES_FILE) ||
        text_equal(name, MODEL_FEATURES_FILE))
        return true;
    for (size_t i = 0; i < CATALOGUE_N_TEXTS; i++) {
        if (text_equal(text_sources[i].file, name))
            return true;
    }
    return false;
}

/* A misspelt override would replace nothing, silently. */
static int check_overrides(const struct text_folder *folder, struct error *err)
{
    for (size_t i = 0; i < folder->n; i++) {
        if (folder->files[i].is_override && !is_known(folder->files[i].name))
            return error_set(err, ERROR_INVALID, "%s: the catalogue has no file of this name",
                             folder->files[i].path);
    }
    return 0;
}

int catalogue_new(const struct text_folder *folder, struct catalogue **catalogue_out,
                  struct error *err)
{
    CLEANUP(catalogue_freep) struct catalogue *catalogue = NEW(struct catalogue);

    if (read_texts(folder, catalogue, err) < 0 ||
        model_families_read(folder, &catalogue->families, err) < 0 ||
        model_table_read(folder, &catalogue->models, err) < 0 ||
        model_features_read(folder, &catalogue->features, err) < 0 ||
        check_overrides(folder, err) < 0)
        return -1;
    *catalogue_out = TAKE_PTR(catalogue);
    return 0;
}

const struct text_template *catalogue_template(const struct catalogue *catalogue,
                                               enum catalogue_text text)
{
    return &catalogue->texts[text];
}

const char *catalogue_text(const struct catalogue *catalogue, enum catalogue_text text)
{
    return text_template_part(&catalogue->texts[text], "");
}

void catalogue_append(const struct catalogue *catalogue, enum catalogue_text text, const char *part,
                      const struct text_value *values, size_t n_values, struct strbuf *out)
{
    text_template_append(&catalogue->texts[text], part, values, n_values, out);
}

const char *catalogue_model_name(const json_t *llm)
{
    return json_text_or(llm, "model_canonical_name", json_text_or(llm, "model", ""));
}

const struct model_facts *catalogue_find_model(const struct catalogue *catalogue, const char *model)
{
    return model_table_find(&catalogue->models, model);
}

enum model_answer catalogue_ask_feature(const struct catalogue *catalogue,
                                        enum model_feature feature, const char *model)
{
    return model_features_ask(&catalogue->features, feature, model);
}

const char *catalogue_family_text(const struct catalogue *catalogue, const char *model)
{
    return model_families_text(&catalogue->families, model);
}
