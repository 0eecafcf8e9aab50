/* The tool grep (see search_tools.h). */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/normal_path.h"
#include "base/strbuf.h"
#include "sandbox/search/file_walk.h"
#include "sandbox/search/found_files.h"
#include "sandbox/search/glob_pattern.h"
#include "sandbox/search/grep_pattern.h"
#include "sandbox/search/search_tools.h"
#include "sandbox/search/search_words.h"

enum {
    WALK_MS = 20000,
    FILE_MAX_BYTES = 32 * 1024 * 1024,
    HEAD_BYTES = 8192, /* a NUL among them: not a text */
};

struct grep_search {
    struct grep_pattern pattern;
    struct glob_pattern include;
    struct search_results found;
    struct file_walk walk;
};

static void grep_search_done(struct grep_search *search)
{
    grep_pattern_done(&search->pattern);
    glob_pattern_done(&search->include);
    found_files_done(&search->found);
}

static bool text_has_match(const struct grep_pattern *pattern, const char *text, size_t len)
{
    size_t head = len < HEAD_BYTES ? len : HEAD_BYTES;

    return memchr(text, '\0', head) == NULL && grep_pattern_finds(pattern, text, len);
}

/* A file that shrinks while it is read ends the fork: its call then fails, and the tool goes on. */
static bool file_has_match(const struct grep_pattern *pattern, const struct walked_file *file)
{
    int fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    size_t len = (size_t)file->size;
    void *text = MAP_FAILED;
    bool found = false;

    if (fd < 0)
        return false;
    text = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (text == MAP_FAILED)
        return false;
    found = text_has_match(pattern, text, len);
    (void)munmap(text, len);
    return found;
}

static void take_file(void *owner, const struct walked_file *file)
{
    struct grep_search *search = owner;

    if (file->size == 0 || file->size > FILE_MAX_BYTES ||
        (search->include.n > 0 && !glob_pattern_matches(&search->include, file->relative)))
        return;
    if (clock_monotonic_ms() >= search->walk.until_ms) {
        search->walk.is_cut = true;
        return;
    }
    if (file_has_match(&search->pattern, file))
        found_files_add(&search->found, file);
}

static int read_patterns(struct grep_search *search, const json_t *args, struct error *err)
{
    const char *include = json_text_or(args, "include", "");

    if (grep_pattern_read(&search->pattern, json_text_or(args, "pattern", ""), err) < 0)
        return -1;
    return include[0] == '\0' ? 0 : glob_pattern_read(&search->include, include, err);
}

int grep_tool_run(const json_t *args, const char *working_dir, json_t *facts, struct strbuf *words,
                  struct error *err)
{
    CLEANUP(grep_search_done) struct grep_search search = {.include = GLOB_PATTERN_INIT,
                                                           .found = FOUND_FILES_INIT};
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    const char *pattern = json_text_or(args, "pattern", "");

    search.walk = (struct file_walk){
        .found = take_file, .owner = &search, .until_ms = clock_monotonic_ms() + WALK_MS};
    normal_path_append_absolute(&folder, working_dir, json_text_or(args, "path", "."));
    json_put_text(facts, "pattern", pattern);
    json_put_text(facts, "search_path", folder.text);
    json_put_text(facts, "include_pattern", json_text_or(args, "include", NULL));
    json_put(facts, "matches", json_array());
    json_put(facts, "truncated", json_false());
    if (read_patterns(&search, args, err) < 0 || file_walk_run(&search.walk, folder.text, err) < 0)
        return -1;
    json_put(facts, "truncated",
             json_boolean(search.walk.is_cut || search.found.n > FOUND_SHOWN_MAX));
    json_put(facts, "matches", found_files_to_json(&search.found));
    search_words_append(words, &(struct search_words){
                                   .n = search.found.n,
                                   .what = "containing",
                                   .pattern = pattern,
                                   .folder = folder.text,
                                   .paths = json_object_get(facts, "matches"),
                                   .is_cut = search.walk.is_cut,
                               });
    return 0;
}
