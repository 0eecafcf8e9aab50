#include "sandbox/actions/journal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "unit/sandbox/sandbox_test.h"

static const char interrupted[] = "{\"state\":\"interrupted\"}";
static const char conversation_text[] = "11111111-2222-4333-8444-555555555555";

static const char shared_memory[] = "/dev/shm/deft-journal-XXXXXX";
static const char temporary[] = "/tmp/deft-journal-XXXXXX";

struct journal_folder {
    char dir[64];
    char file[80];
};

static int make_folder(void **state)
{
    struct journal_folder *folder = calloc(1, sizeof(*folder));

    assert_non_null(folder);
    /* In memory where that is to be had: thousands of syncs take minutes on a busy disk. */
    memcpy(folder->dir, shared_memory, sizeof(shared_memory));
    if (mkdtemp(folder->dir) == NULL) {
        memcpy(folder->dir, temporary, sizeof(temporary));
        assert_non_null(mkdtemp(folder->dir));
    }
    (void)snprintf(folder->file, sizeof(folder->file), "%s/journal", folder->dir);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct journal_folder *folder = *state;

    (void)unlink(folder->file);
    (void)rmdir(folder->dir);
    free(folder);
    return 0;
}

/* The file as a crash, or a broken disk, may leave it. */
static void write_journal(const struct journal_folder *folder, const char *bytes, size_t len)
{
    CLEANUP(fd_close) int fd = open(folder->file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    struct error err = ERROR_INIT;

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes, len, &err), 0);
}

static struct journal_entry entry_of(const char *id, int64_t fence)
{
    struct journal_entry entry = {.fence = fence, .hash = "abc"};

    memcpy(entry.id, id, strlen(id) + 1);
    assert_true(uuid_parse(conversation_text, &entry.conversation));
    return entry;
}

static void start(struct journal *journal, const char *id, int64_t fence)
{
    struct journal_entry entry = entry_of(id, fence);
    struct error err = ERROR_INIT;

    assert_int_equal(journal_start(journal, &entry, &err), 0);
}

static void assert_result(struct journal *journal, const char *id, const char *body)
{
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
    const struct journal_entry *entry = journal_find(journal, id);
    struct error err = ERROR_INIT;

    assert_non_null(entry);
    assert_int_equal(entry->state, JOURNAL_FINISHED);
    assert_int_equal(journal_read_result(journal, entry, &kept, &err), 0);
    assert_string_equal(kept.text, body);
}

static void conversations_have_their_own_fences(void **state)
{
    static const char *const names[] = {"11111111-1111-4111-8111-111111111111",
                                        "22222222-2222-4222-8222-222222222222",
                                        "33333333-3333-4333-8333-333333333333"};
    const struct journal_folder *folder = *state;
    struct uuid ids[ARRAY_SIZE(names)];
    struct journal *journal = journal_open(folder->dir, interrupted);

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_true(uuid_parse(names[i], &ids[i]));
        assert_int_equal(journal_fence(journal, &ids[i]), -1);
        journal_raise_fence(journal, &ids[i], (int64_t)i + 5);
    }
    journal_raise_fence(journal, &ids[1], 2);
    for (int restart = 0; restart < 2; restart++) {
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            assert_int_equal(journal_fence(journal, &ids[i]), (int64_t)i + 5);
        journal_close(journal);
        journal = journal_open(folder->dir, interrupted);
    }
    journal_forget(journal, &ids[1]);
    assert_int_equal(journal_fence(journal, &ids[0]), 5);
    assert_int_equal(journal_fence(journal, &ids[2]), 7);
    journal_close(journal);
}

static void results_fences_and_hashes_survive_a_restart(void **state)
{
    const struct journal_folder *folder = *state;
    struct journal *journal = journal_open(folder->dir, interrupted);
    struct uuid conversation = entry_of("x", 0).conversation;

    start(journal, "a", 3);
    journal_finish(journal, "a", "{\"n\":1}");
    start(journal, "b", 4);
    journal_raise_fence(journal, &conversation, 9);
    /* A record of an older fence comes after it, as a rewritten file may hold them. */
    start(journal, "late", 2);
    assert_int_equal(journal_fence(journal, &conversation), 9);
    journal_close(journal);

    journal = journal_open(folder->dir, interrupted);
    assert_result(journal, "a", "{\"n\":1}");
    assert_result(journal, "b", interrupted);
    assert_string_equal(journal_find(journal, "a")->hash, "abc");
    assert_int_equal(journal_fence(journal, &conversation), 9);
    assert_null(journal_find(journal, "c"));
    journal_close(journal);
}

/* A copy of the file cut at any byte is what a crash may leave. */
static void any_torn_end_is_survived(void **state)
{
    const struct journal_folder *folder = *state;
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    struct journal *journal = journal_open(folder->dir, interrupted);
    struct error err = ERROR_INIT;
    size_t first_finished = 0;

    start(journal, "a", 1);
    journal_finish(journal, "a", "{\"n\":1}");
    journal_close(journal);
    assert_int_equal(file_read(folder->file, 100000, &whole, &err), 0);
    first_finished = whole.len;
    journal = journal_open(folder->dir, interrupted);
    start(journal, "b", 1);
    journal_finish(journal, "b", "{\"n\":2}");
    journal_close(journal);
    strbuf_reset(&whole);
    assert_int_equal(file_read(folder->file, 100000, &whole, &err), 0);

    for (size_t len = first_finished; len < whole.len; len++) {
        write_journal(folder, whole.text, len);
        journal = journal_open(folder->dir, interrupted);
        assert_result(journal, "a", "{\"n\":1}");
        if (journal_find(journal, "b") != NULL)
            assert_result(journal, "b", interrupted);
        start(journal, "c", 1);
        journal_close(journal);
        journal = journal_open(folder->dir, interrupted);
        assert_result(journal, "c", interrupted);
        journal_close(journal);
    }
}

static void append_many(struct strbuf *body, size_t len)
{
    strbuf_append_char(body, '"');
    while (body->len < len - 1)
        strbuf_append_char(body, 'x');
    strbuf_append_char(body, '"');
}

static off_t size_of(const struct journal_folder *folder)
{
    struct stat info;

    assert_int_equal(stat(folder->file, &info), 0);
    return info.st_size;
}

static void a_flipped_bit_ends_the_journal(void **state)
{
    const struct journal_folder *folder = *state;
    struct journal *journal = journal_open(folder->dir, interrupted);
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    struct error err = ERROR_INIT;
    char *digit = NULL;

    start(journal, "a", 1);
    journal_close(journal);
    assert_int_equal(file_read(folder->file, 100000, &whole, &err), 0);
    /* A digit of the conversation: the record stays one that can be read, only its sum is wrong. */
    digit = strstr(whole.text, conversation_text);
    assert_non_null(digit);
    *digit = '2';
    write_journal(folder, whole.text, whole.len);
    journal = journal_open(folder->dir, interrupted);
    assert_null(journal_find(journal, "a"));
    /* What follows is cut off: it must not come back after a new record. */
    assert_int_equal(size_of(folder), 0);
    journal_close(journal);
}

static void repeated_start_is_one_action(void **state)
{
    const struct journal_folder *folder = *state;
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    struct uuid conversation = entry_of("x", 0).conversation;
    struct journal *journal = journal_open(folder->dir, interrupted);
    struct error err = ERROR_INIT;

    start(journal, "a", 1);
    journal_close(journal);
    for (int i = 0; i < 2; i++)
        assert_int_equal(file_read(folder->file, 100000, &whole, &err), 0);
    write_journal(folder, whole.text, whole.len);
    journal = journal_open(folder->dir, interrupted);
    assert_result(journal, "a", interrupted);
    journal_forget(journal, &conversation);
    assert_null(journal_find(journal, "a"));
    journal_close(journal);
}

static void limit_files(rlim_t size_bytes, rlim_t *was)
{
    struct rlimit limit = {0};

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    *was = limit.rlim_cur;
    limit.rlim_cur = size_bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A full disk: the result stays in memory until the file is rewritten. */
static void result_that_cannot_be_written_is_kept(void **state)
{
    const struct journal_folder *folder = *state;
    struct journal *journal = journal_open(folder->dir, interrupted);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct journal_entry other = entry_of("b", 1);
    struct error err = ERROR_INIT;
    off_t size_bytes = 0;
    rlim_t was = 0;

    start(journal, "a", 1);
    assert_true(uuid_parse("99999999-2222-4333-8444-555555555555", &other.conversation));
    size_bytes = size_of(folder);
    limit_files((rlim_t)size_bytes + 5, &was);
    journal_finish(journal, "a", "{\"n\":1}");
    assert_int_equal(journal_start(journal, &other, &err), -1);
    limit_files(was, &was);
    /* Nothing is left of what was written in part. */
    assert_int_equal(size_of(folder), size_bytes);
    assert_null(journal_find(journal, "b"));
    assert_result(journal, "a", "{\"n\":1}");
    append_many(&body, 1024 * 1024);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(journal_start(journal, &other, &err), 0);
        journal_finish(journal, "b", body.text);
        journal_forget(journal, &other.conversation);
    }
    assert_true(size_of(folder) < 5 * 1024 * 1024);
    for (int i = 0; i < 2; i++) {
        assert_result(journal, "a", "{\"n\":1}");
        journal_close(journal);
        journal = journal_open(folder->dir, interrupted);
    }
    journal_close(journal);
}

static void the_oldest_results_go_first_and_the_file_stays_small(void **state)
{
    const struct journal_folder *folder = *state;
    struct journal *journal = journal_open(folder->dir, interrupted);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    char id[16];

    while (body.len < 1000)
        strbuf_append(&body, "0123456789");
    start(journal, "first", 1);
    journal_finish(journal, "first", body.text);
    start(journal, "second", 1);
    journal_finish(journal, "second", body.text);
    journal_acknowledge(journal, "second");
    for (int i = 0; i < MAX_JOURNAL_ENTRIES - 1; i++) {
        struct journal_entry entry = entry_of("x", 1);
        struct error err = ERROR_INIT;

        (void)snprintf(id, sizeof(id), "n%d", i);
        memcpy(entry.id, id, sizeof(id));
        assert_int_equal(journal_start(journal, &entry, &err), 0);
        journal_finish(journal, id, body.text);
    }
    assert_null(journal_find(journal, "second"));
    assert_non_null(journal_find(journal, "first"));
    assert_result(journal, id, body.text);
    journal_close(journal);
    assert_true(size_of(folder) < 16 * 1024 * 1024);
}

/* The file is rewritten with what is left, which reads as before, also by the next process. */
static void space_of_forgotten_results_is_given_back(void **state)
{
    const struct journal_folder *folder = *state;
    struct journal *journal = journal_open(folder->dir, interrupted);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct uuid conversation = entry_of("x", 0).conversation;
    struct journal_entry kept = entry_of("kept", 7);
    struct journal_entry begun = entry_of("begun", 8);
    struct error err = ERROR_INIT;
    struct uuid fenced = UUID_INIT;

    append_many(&body, 1024 * 1024);
    assert_true(uuid_parse("77777777-2222-4333-8444-555555555555", &fenced));
    journal_raise_fence(journal, &fenced, 6);
    assert_true(uuid_parse("99999999-2222-4333-8444-555555555555", &kept.conversation));
    begun.conversation = kept.conversation;
    assert_int_equal(journal_start(journal, &kept, &err), 0);
    journal_finish(journal, "kept", "{\"n\":1}");
    journal_acknowledge(journal, "kept");
    assert_int_equal(journal_start(journal, &begun, &err), 0);
    for (int i = 0; i < 12; i++) {
        start(journal, "r", i);
        journal_finish(journal, "r", body.text);
        assert_result(journal, "r", body.text);
        journal_forget(journal, &conversation);
        assert_null(journal_find(journal, "r"));
    }
    for (int i = 0; i < 2; i++) {
        assert_result(journal, "kept", "{\"n\":1}");
        assert_true(journal_find(journal, "kept")->acknowledged);
        assert_string_equal(journal_find(journal, "kept")->hash, "abc");
        assert_int_equal(journal_fence(journal, &kept.conversation), 8);
        assert_int_equal(journal_fence(journal, &fenced), 6);
        assert_false(journal_find(journal, "begun")->acknowledged);
        assert_int_equal(journal_find(journal, "begun")->state,
                         i == 0 ? JOURNAL_STARTED : JOURNAL_FINISHED);
        assert_true(size_of(folder) < 6 * 1024 * 1024);
        journal_close(journal);
        journal = journal_open(folder->dir, interrupted);
    }
    assert_result(journal, "begun", interrupted);
    journal_close(journal);
}

static void finish_as(struct journal *journal, int number, const char *body)
{
    struct journal_entry entry = entry_of("x", 1);
    struct error err = ERROR_INIT;

    (void)snprintf(entry.id, sizeof(entry.id), "n%d", number);
    assert_int_equal(journal_start(journal, &entry, &err), 0);
    journal_finish(journal, entry.id, body);
}

static void oldest_result_goes_first(void **state)
{
    struct journal *journal = journal_open("/nonexistent/folder", interrupted);

    (void)state;
    /* What still runs is kept, however old it is. */
    start(journal, "running", 1);
    for (int i = 0; i < MAX_JOURNAL_ENTRIES - 1; i++)
        finish_as(journal, i, "{}");
    assert_non_null(journal_find(journal, "n0"));
    finish_as(journal, MAX_JOURNAL_ENTRIES, "{}");
    assert_null(journal_find(journal, "n0"));
    assert_non_null(journal_find(journal, "n1"));
    /* One that was acknowledged goes before. */
    journal_acknowledge(journal, "n9");
    journal_acknowledge(journal, "running");
    finish_as(journal, MAX_JOURNAL_ENTRIES + 1, "{}");
    assert_null(journal_find(journal, "n9"));
    assert_non_null(journal_find(journal, "n1"));
    assert_non_null(journal_find(journal, "running"));
    assert_false(journal_find(journal, "running")->acknowledged);
    journal_close(journal);
}

static void results_have_a_size_together(void **state)
{
    struct journal *journal = journal_open("/nonexistent/folder", interrupted);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    int n_left = 0;

    (void)state;
    append_many(&body, MAX_JOURNAL_BYTES / 8);
    for (int i = 0; i < 12; i++)
        finish_as(journal, i, body.text);
    for (int i = 0; i < 12; i++) {
        char id[16] = "";

        (void)snprintf(id, sizeof(id), "n%d", i);
        n_left += journal_find(journal, id) != NULL;
        assert_int_equal(journal_find(journal, id) != NULL, i >= 5);
    }
    assert_int_equal(n_left, 7);
    journal_close(journal);
}

static void a_forgotten_conversation_leaves_nothing(void **state)
{
    const struct journal_folder *folder = *state;
    struct journal *journal = journal_open(folder->dir, interrupted);
    struct uuid conversation = entry_of("x", 0).conversation;

    start(journal, "a", 5);
    journal_finish(journal, "a", "{}");
    journal_forget(journal, &conversation);
    assert_null(journal_find(journal, "a"));
    journal_close(journal);
    journal = journal_open(folder->dir, interrupted);
    assert_null(journal_find(journal, "a"));
    assert_int_equal(journal_fence(journal, &conversation), -1);
    journal_close(journal);
}

static void without_a_directory_memory_serves(void **state)
{
    struct journal *journal = journal_open("/nonexistent/folder", interrupted);

    (void)state;
    start(journal, "a", 1);
    journal_finish(journal, "a", "{\"n\":1}");
    assert_result(journal, "a", "{\"n\":1}");
    journal_close(journal);
}

int journal_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(conversations_have_their_own_fences, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(results_fences_and_hashes_survive_a_restart, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(any_torn_end_is_survived, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_flipped_bit_ends_the_journal, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(repeated_start_is_one_action, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(result_that_cannot_be_written_is_kept, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(the_oldest_results_go_first_and_the_file_stays_small,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_forgotten_conversation_leaves_nothing, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(space_of_forgotten_results_is_given_back, make_folder,
                                        remove_folder),
        cmocka_unit_test(oldest_result_goes_first),
        cmocka_unit_test(results_have_a_size_together),
        cmocka_unit_test(without_a_directory_memory_serves),
    };

    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
