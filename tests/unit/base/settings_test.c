#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/settings.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

struct test_settings {
    const char *name;
    struct secret key;
    int64_t count;
    int64_t wait_ms;
    int64_t is_on;
};

static const struct setting table[] = {
    {"DEFT_TEST_NAME", SETTING_TEXT, "nobody", offsetof(struct test_settings, name), "a name"},
    {"DEFT_TEST_KEY", SETTING_SECRET, NULL, offsetof(struct test_settings, key), "a key"},
    {"DEFT_TEST_COUNT", SETTING_COUNT, "7", offsetof(struct test_settings, count), "a count"},
    {"DEFT_TEST_WAIT_MS", SETTING_MS, "50", offsetof(struct test_settings, wait_ms), "a wait"},
    {"DEFT_TEST_ON", SETTING_BOOL, "1", offsetof(struct test_settings, is_on), "a switch"},
};

static void test_settings_done(struct test_settings *settings)
{
    settings_done(table, ARRAY_SIZE(table), settings);
}

static int forget(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (unsetenv(table[i].name) != 0)
            return -1;
    }
    return unsetenv("DEFT_TEST_KEY_FILE");
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static void silence_means_the_defaults(void **state)
{
    CLEANUP(test_settings_done) struct test_settings settings = {0};
    struct error err = ERROR_INIT;

    (void)state;
    set("DEFT_TEST_KEY", "k");
    set("DEFT_TEST_NAME", "");
    assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
    assert_string_equal(settings.name, "nobody");
    assert_string_equal(secret_reveal(&settings.key), "k");
    assert_int_equal(settings.count, 7);
    assert_int_equal(settings.wait_ms, 50);
    assert_int_equal(settings.is_on, 1);
}

static void environment_is_read_by_kind(void **state)
{
    CLEANUP(test_settings_done) struct test_settings settings = {0};
    struct error err = ERROR_INIT;

    (void)state;
    set("DEFT_TEST_KEY", "k");
    set("DEFT_TEST_NAME", "somebody");
    set("DEFT_TEST_COUNT", "0");
    set("DEFT_TEST_ON", "No");
    assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
    assert_string_equal(settings.name, "somebody");
    assert_int_equal(settings.count, 0);
    assert_int_equal(settings.is_on, 0);
}

static void bad_values_are_refused_by_name(void **state)
{
    static const char *const bad[][2] = {{"DEFT_TEST_COUNT", "-1"},
                                         {"DEFT_TEST_COUNT", "many"},
                                         {"DEFT_TEST_WAIT_MS", "5s"},
                                         {"DEFT_TEST_ON", "maybe"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(test_settings_done) struct test_settings settings = {0};
        struct error err = ERROR_INIT;

        assert_int_equal(forget(NULL), 0);
        set("DEFT_TEST_KEY", "k");
        set(bad[i][0], bad[i][1]);
        assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_non_null(strstr(err.message, bad[i][0]));
    }
}

static void missing_requirement_is_named(void **state)
{
    CLEANUP(test_settings_done) struct test_settings settings = {0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), -1);
    assert_non_null(strstr(err.message, "DEFT_TEST_KEY"));
}

/* A file in memory; its path in *path_out. */
static int make_file(const char *text, char path_out[64])
{
    int fd = memfd_create("key", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)snprintf(path_out, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void secret_may_be_in_a_file(void **state)
{
    static const char *const texts[] = {"of a file", "of a file\n", "of a file\r\nand more\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(test_settings_done) struct test_settings settings = {0};
        struct error err = ERROR_INIT;
        char path[64];
        int fd = make_file(texts[i], path);

        set("DEFT_TEST_KEY_FILE", path);
        assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
        assert_string_equal(secret_reveal(&settings.key), "of a file");
        test_settings_done(&settings);
        set("DEFT_TEST_KEY", "of the environment");
        assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
        assert_string_equal(secret_reveal(&settings.key), "of the environment");
        close(fd);
    }
}

static void file_without_a_secret_is_refused_by_name(void **state)
{
    char path[64];
    int fd = make_file("\n", path);
    const char *const paths[] = {"/nonexistent/key", "/proc", path};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        CLEANUP(test_settings_done) struct test_settings settings = {0};
        struct error err = ERROR_INIT;

        set("DEFT_TEST_KEY_FILE", paths[i]);
        assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), -1);
        assert_non_null(strstr(err.message, "DEFT_TEST_KEY_FILE"));
        assert_non_null(strstr(err.message, paths[i]));
    }
    close(fd);
}

static void secret_is_wiped_from_the_environment(void **state)
{
    CLEANUP(test_settings_done) struct test_settings settings = {0};
    struct error err = ERROR_INIT;
    static const char text[] = "DEFT_TEST_KEY=of-the-environment";
    char *entry = mem_dup_text(text);

    (void)state;
    assert_int_equal(putenv(entry), 0);
    assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
    assert_string_equal(secret_reveal(&settings.key), "of-the-environment");
    assert_null(getenv("DEFT_TEST_KEY"));
    for (size_t i = strlen("DEFT_TEST_KEY="); i < sizeof(text); i++)
        assert_int_equal(entry[i], '\0');
    mem_free(entry);
}

static void released_settings_are_empty(void **state)
{
    struct test_settings settings = {0};
    struct error err = ERROR_INIT;

    (void)state;
    set("DEFT_TEST_KEY", "k");
    assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
    test_settings_done(&settings);
    assert_false(secret_is_set(&settings.key));
}

static void every_setting_is_described(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    settings_describe(table, ARRAY_SIZE(table), &text);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        assert_non_null(strstr(text.text, table[i].name));
        assert_non_null(strstr(text.text, table[i].help));
    }
    assert_non_null(strstr(text.text, "required"));
    assert_non_null(strstr(text.text, "DEFT_TEST_KEY_FILE"));
}

static void switch_has_eight_words(void **state)
{
    static const struct {
        const char *word;
        int64_t value;
    } words[] = {{"0", 0},  {"1", 1},   {"false", 0}, {"TRUE", 1},
                 {"no", 0}, {"Yes", 1}, {"off", 0},   {"on", 1}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        CLEANUP(test_settings_done) struct test_settings settings = {.is_on = 7};
        struct error err = ERROR_INIT;

        set("DEFT_TEST_KEY", "k");
        set("DEFT_TEST_ON", words[i].word);
        assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
        assert_int_equal(settings.is_on, words[i].value);
    }
}

static void numbers_are_read_up_to_the_largest(void **state)
{
    CLEANUP(test_settings_done) struct test_settings settings = {0};
    struct error err = ERROR_INIT;

    (void)state;
    set("DEFT_TEST_KEY", "k");
    set("DEFT_TEST_COUNT", "9223372036854775807");
    set("DEFT_TEST_WAIT_MS", "0");
    assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), 0);
    assert_int_equal(settings.count, INT64_MAX);
    assert_int_equal(settings.wait_ms, 0);
}

static void setting_is_described_on_one_line(void **state)
{
    static const struct setting all[] = {
        {"DEFT_TEXT", SETTING_TEXT, "x", 0, "words"},
        {"DEFT_EMPTY", SETTING_TEXT, "", 0, "words"},
        {"DEFT_COUNT", SETTING_COUNT, "7", 0, "how many"},
        {"DEFT_WAIT_MS", SETTING_MS, NULL, 0, "how long"},
        {"DEFT_BYTES", SETTING_BYTES, "9", 0, "how large"},
        {"DEFT_ON", SETTING_BOOL, "1", 0, "whether"},
        {"DEFT_KEY", SETTING_SECRET, NULL, 0, "a key"},
        {"DEFT_OLD_KEY", SETTING_SECRET, "hidden", 0, "a key"},
    };
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    settings_describe(all, ARRAY_SIZE(all), &text);
    assert_string_equal(
        text.text,
        "DEFT_TEXT                    words (text, default x)\n"
        "DEFT_EMPTY                   words (text)\n"
        "DEFT_COUNT                   how many (count, default 7)\n"
        "DEFT_WAIT_MS                 how long (milliseconds, required)\n"
        "DEFT_BYTES                   how large (bytes, default 9)\n"
        "DEFT_ON                      whether (0 or 1, default 1)\n"
        "DEFT_KEY                     a key (secret, required; or DEFT_KEY_FILE, a file that"
        " holds it)\n"
        "DEFT_OLD_KEY                 a key (secret; or DEFT_OLD_KEY_FILE, a file that holds"
        " it)\n");
}

static void values_are_refused_with_what_was_expected(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        const char *message;
    } cases[] = {
        {"DEFT_TEST_ON", "2", "DEFT_TEST_ON: '2' is neither 0 nor 1"},
        {"DEFT_TEST_COUNT", "x", "DEFT_TEST_COUNT: 'x' is not a whole number"},
        {"DEFT_TEST_KEY", "", "neither DEFT_TEST_KEY nor DEFT_TEST_KEY_FILE is set: a key"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(test_settings_done) struct test_settings settings = {0};
        struct error err = ERROR_INIT;

        assert_int_equal(forget(NULL), 0);
        set("DEFT_TEST_KEY", "k");
        set(cases[i].name, cases[i].value);
        assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err), -1);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void secret_may_have_a_default(void **state)
{
    static const struct setting with_default[] = {
        {"DEFT_TEST_KEY", SETTING_SECRET, "", offsetof(struct test_settings, key), "a key"},
        {"DEFT_TEST_NAME", SETTING_TEXT, NULL, offsetof(struct test_settings, name), "a name"},
    };
    CLEANUP(test_settings_done) struct test_settings settings = {0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(settings_read(with_default, 1, &settings, &err), 0);
    assert_false(secret_is_set(&settings.key));
    assert_int_equal(settings_read(with_default, 2, &settings, &err), -1);
    assert_string_equal(err.message, "DEFT_TEST_NAME is not set: a name");
}

static void secret_file_has_a_largest_size(void **state)
{
    enum { SECRET_MAX_BYTES = 65536 };

    (void)state;
    for (size_t more = 0; more < 2; more++) {
        CLEANUP(test_settings_done) struct test_settings settings = {0};
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct error err = ERROR_INIT;
        char path[64];
        int fd = -1;

        while (text.len < SECRET_MAX_BYTES + more)
            strbuf_append_char(&text, 'k');
        fd = make_file(text.text, path);
        set("DEFT_TEST_KEY_FILE", path);
        assert_int_equal(settings_read(table, ARRAY_SIZE(table), &settings, &err),
                         more == 0 ? 0 : -1);
        assert_int_equal(err.code, more == 0 ? ERROR_NONE : ERROR_TOO_LARGE);
        close(fd);
    }
}

int settings_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(silence_means_the_defaults, forget),
        cmocka_unit_test_setup(environment_is_read_by_kind, forget),
        cmocka_unit_test_setup(bad_values_are_refused_by_name, forget),
        cmocka_unit_test_setup(missing_requirement_is_named, forget),
        cmocka_unit_test_setup(secret_may_be_in_a_file, forget),
        cmocka_unit_test_setup(file_without_a_secret_is_refused_by_name, forget),
        cmocka_unit_test_setup(secret_is_wiped_from_the_environment, forget),
        cmocka_unit_test_setup(released_settings_are_empty, forget),
        cmocka_unit_test_setup(every_setting_is_described, forget),
        cmocka_unit_test_setup(switch_has_eight_words, forget),
        cmocka_unit_test_setup(numbers_are_read_up_to_the_largest, forget),
        cmocka_unit_test_setup(setting_is_described_on_one_line, forget),
        cmocka_unit_test_setup(values_are_refused_with_what_was_expected, forget),
        cmocka_unit_test_setup(secret_may_have_a_default, forget),
        cmocka_unit_test_setup(secret_file_has_a_largest_size, forget),
    };

    return cmocka_run_group_tests_name("base/settings", tests, NULL, NULL);
}
