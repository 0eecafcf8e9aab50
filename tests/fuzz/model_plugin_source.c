/*
 * Any text is a source or refused, and what is read of it leads neither out of a repository nor
 * shows its credentials; any list of files is a package or none.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "json_setup.h"
#include "model/plugins/plugin_folder.h"
#include "model/plugins/plugin_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_source(const char *text, const char *repo_path)
{
    CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;
    struct error err = ERROR_INIT;

    if (plugin_source_read(text, NULL, repo_path, &source, &err) < 0) {
        assert(source.address == NULL && err.code == ERROR_INVALID);
        return;
    }
    assert(source.address != NULL);
    if (source.repo_path != NULL) {
        assert(source.repo_path[0] != '/' && !text_starts_with(source.repo_path, "../"));
        assert(strstr(source.repo_path, "/../") == NULL);
    }
    assert(source.password == NULL || text_starts_with(source.address, "http"));
}

static void check_package(const json_t *files)
{
    const struct plugin_folder folder = {"/folder", files};
    json_auto_t *plugin = NULL;
    json_auto_t *skill = NULL;
    json_auto_t *market = plugin_folder_read_market(&folder, NULL);
    struct error err = ERROR_INIT;
    int rc = plugin_folder_read_plugin(&folder, &plugin, &err);

    assert((rc == 0) == (plugin != NULL));
    assert(plugin == NULL || plugin_name_is_valid(json_text_or(plugin, "name", "")));
    rc = plugin_folder_read_skill(&folder, &skill, &err);
    assert((rc == 0) == (skill != NULL));
    assert(market == NULL || json_is_array(market));
    (void)rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(mem_freep) char *text = mem_dup_bytes(data, size);
    struct error err = ERROR_INIT;
    json_auto_t *files = NULL;

    check_source(text, NULL);
    check_source("github:a/b", text);
    if (json_parse((const char *)data, size, &files, &err) == 0)
        check_package(files);
    return 0;
}
