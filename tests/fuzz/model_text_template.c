/*
 * A file of the catalogue: any text is read and rendered, or refused in words. Input: the file.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text_folder.h"
#include "json_setup.h"
#include "model/catalogue/text_template.h"
#include "model/catalogue/tsv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_rows(const struct text_file *file)
{
    CLEANUP(tsv_done) struct tsv table = {.row = STRBUF_INIT};

    tsv_init(&table, file);
    while (tsv_next(&table))
        assert(table.n > 0 && table.fields[0] == table.row.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct text_rules rules = {.parts = "a", .optional = "b", .values = "x|y"};
    const struct text_value values[] = {{"x", "{{y}}"}};
    CLEANUP(mem_freep) char *text = mem_dup_bytes(bytes, len);
    const struct text_file file = {
        .name = NULL, .path = (char[]){"f"}, .text = text, .len = strlen(text)};
    CLEANUP(text_template_done) struct text_template template = {NULL, 0};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    check_rows(&file);
    if (text_template_read(&file, &rules, &template, &err) < 0) {
        assert(err.message[0] != '\0');
        return 0;
    }
    assert(text_template_part(&template, "")[0] != '\0');
    for (size_t i = 0; i < template.n; i++)
        text_template_append(&template, template.parts[i].name, values, 1, &out);
    return 0;
}
