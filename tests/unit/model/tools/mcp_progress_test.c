#include "model/tools/mcp_progress.h"

#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/mem.h"
#include "unit/model/model_test.h"

static void reports_are_read_as_outside_data(void **state)
{
    static const struct {
        const char *params;
        bool is_usable;
        double done;
        double total;
        const char *message;
    } cases[] = {
        {"{'progress': 1}", true, 1, 0, ""},
        {"{'progress': 0.5, 'total': 2, 'message': 'half'}", true, 0.5, 2, "half"},
        {"{'progress': -3, 'total': 0}", true, -3, 0, ""},
        {"{'progress': 1e300, 'total': -1, 'message': 7}", true, 1e300, 0, ""},
        {"{'progress': 1, 'total': '2', 'message': null}", true, 1, 0, ""},
        {"{}", false, 0, 0, NULL},
        {"{'progress': '1'}", false, 0, 0, NULL},
        {"{'progress': null, 'total': 1, 'message': 'm'}", false, 0, 0, NULL},
        {"[1]", false, 0, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *params = json_of(cases[i].params);
        struct mcp_progress read = {.message = NULL};

        assert_int_equal(mcp_progress_read(params, &read), cases[i].is_usable);
        if (!cases[i].is_usable)
            continue;
        assert_true(read.done == cases[i].done);
        assert_true(read.total == cases[i].total);
        assert_string_equal(read.message, cases[i].message);
    }
    assert_false(mcp_progress_read(NULL, &(struct mcp_progress){.message = NULL}));
}

static void only_reports_of_the_token_are_taken(void **state)
{
    static const struct {
        const char *message;
        bool is_taken;
    } cases[] = {
        {"{'method': 'notifications/progress', 'params': {'progressToken': 7, 'progress': 1}}",
         true},
        {"{'method': 'notifications/progress', 'params': {'progressToken': 8, 'progress': 1}}",
         false},
        {"{'method': 'notifications/progress', 'params': {'progressToken': '7', 'progress': 1}}",
         false},
        {"{'method': 'notifications/progress', 'params': {'progressToken': 7.0, 'progress': 1}}",
         false},
        {"{'method': 'notifications/progress', 'params': {'progress': 1}}", false},
        {"{'method': 'notifications/progress', 'params': {'progressToken': 7}}", false},
        {"{'method': 'notifications/progress'}", false},
        {"{'method': 'notifications/message', 'params': {'progressToken': 7, 'progress': 1}}",
         false},
        {"{'params': {'progressToken': 7, 'progress': 1}}", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *message = json_of(cases[i].message);
        struct mcp_progress read = {.message = NULL};

        assert_int_equal(mcp_progress_of(message, 7, &read), cases[i].is_taken);
    }
}

static void longest_message_is_kept_whole(void **state)
{
    (void)state;
    for (size_t len = MCP_PROGRESS_MESSAGE_MAX_BYTES; len <= MCP_PROGRESS_MESSAGE_MAX_BYTES + 1;
         len++) {
        CLEANUP(mem_freep) char *message = mem_alloc(len + 1);
        json_auto_t *params = json_object();
        struct mcp_progress read = {.message = NULL};

        memset(message, 'x', len);
        message[len] = '\0';
        json_put(params, "progress", json_integer(1));
        json_put_text(params, "message", message);
        assert_true(mcp_progress_read(params, &read));
        assert_string_equal(read.message, len > MCP_PROGRESS_MESSAGE_MAX_BYTES ? "" : message);
    }
}

static void written_form_is_read_back(void **state)
{
    static const struct mcp_progress cases[] = {{0.25, 0, ""}, {2, 4, "half"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *json = mcp_progress_to_json(&cases[i]);
        struct mcp_progress read = {.message = NULL};

        assert_true(mcp_progress_read(json, &read));
        assert_true(read.done == cases[i].done && read.total == cases[i].total);
        assert_string_equal(read.message, cases[i].message);
    }
}

int mcp_progress_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_read_as_outside_data),
        cmocka_unit_test(only_reports_of_the_token_are_taken),
        cmocka_unit_test(longest_message_is_kept_whole),
        cmocka_unit_test(written_form_is_read_back),
    };

    return cmocka_run_group_tests_name("model/mcp_progress", tests, NULL, NULL);
}
