/* The tool glob (see search_tools.h). */
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/normal_path.h"
#include "base/strbuf.h"
#include "sandbox/search/file_walk.h"
#include "sandbox/search/found_files.h"
#include "sandbox/search/glob_pattern.h"
#include "sandbox/search/search_tools.h"
#include "sandbox/search/search_words.h"

#define WALK_MS 20000

struct glob_search {
    struct glob_pattern pattern;
    struct search_results found;
};

static void glob_search_done(struct glob_search *search)
{
    glob_pattern_done(&search->pattern);
    found_files_done(&search->found);
}

static void take_file(void *owner, const struct walked_file *file)
{
    struct glob_search *search = owner;

    if (glob_pattern_matches(&search->pattern, file->relative))
        found_files_add(&search->found, file);
}

int glob_tool_run(const json_t *args, const char *working_dir, json_t *facts, struct strbuf *words,
                  struct error *err)
{
    CLEANUP(glob_search_done) struct glob_search search = {GLOB_PATTERN_INIT, FOUND_FILES_INIT};
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    struct file_walk walk = {
        .found = take_file, .owner = &search, .until_ms = clock_monotonic_ms() + WALK_MS};
    const char *pattern = json_text_or(args, "pattern", "");
    bool is_truncated = false;

    normal_path_append_absolute(&folder, working_dir, json_text_or(args, "path", "."));
    json_put_text(facts, "pattern", pattern);
    json_put_text(facts, "search_path", folder.text);
    json_put(facts, "files", json_array());
    json_put(facts, "truncated", json_false());
    if (glob_pattern_read(&search.pattern, pattern, err) < 0 ||
        file_walk_run(&walk, folder.text, err) < 0)
        return -1;
    is_truncated = walk.is_cut || search.found.n > FOUND_SHOWN_MAX;
    json_put(facts, "truncated", json_boolean(is_truncated));
    json_put(facts, "files", found_files_to_json(&search.found));
    search_words_append(words, &(struct search_words){
                                   .n = search.found.n,
                                   .what = "matching",
                                   .pattern = pattern,
                                   .folder = folder.text,
                                   .paths = json_object_get(facts, "files"),
                                   .is_cut = walk.is_cut,
                               });
    return 0;
}
