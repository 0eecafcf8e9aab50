/*
 * The text that Prometheus reads, as a whole.
 */
#include "runtime/core/runtime_metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/failure_reason.h"
#include "runtime/core/pool_sizing.h"
#include "store/runtime/runtime_count_store.h"
#include "unit/runtime/runtime_test.h"

static const struct backend_space unknown_space = {.free_bytes = -1};
static const struct tenant_count_list no_counts = {.items = NULL};

/* Fails unless the lines follow each other in the text. */
static void assert_lines(const struct strbuf *text, const char *lines)
{
    if (strstr(text->text, lines) == NULL)
        fail_msg("missing:\n%sin:\n%s", lines, text->text);
}

static void pools_are_shown_by_class(void **state)
{
    static const struct pool_class small = {"a\"b\\c\nd", 1 << 30, 1500000000};
    static const struct pool_class large = {"x", INT64_C(4) << 30, 2000000000};
    static const struct metrics_pool pools[] = {{&small, 1, 2}, {&large, 0, 3}};
    static const char expected[] =
        "# HELP deft_warm_idle Warm sandboxes, by class.\n# TYPE deft_warm_idle gauge\n"
        "deft_warm_idle{image=\"a\\\"b\\\\c\\nd\",memory_bytes=\"1073741824\",cpus=\"1.5\"} 1\n"
        "deft_warm_idle{image=\"x\",memory_bytes=\"4294967296\",cpus=\"2\"} 0\n"
        "# HELP deft_warm_target Target number of warm sandboxes, by class.\n"
        "# TYPE deft_warm_target gauge\n"
        "deft_warm_target{image=\"a\\\"b\\\\c\\nd\",memory_bytes=\"1073741824\",cpus=\"1.5\"} 2\n"
        "deft_warm_target{image=\"x\",memory_bytes=\"4294967296\",cpus=\"2\"} 3\n"
        "# HELP deft_warm_hit_total Starts that claimed a warm sandbox.\n"
        "# TYPE deft_warm_hit_total counter\ndeft_warm_hit_total 2\n"
        "# HELP deft_warm_miss_total Starts that claimed no warm sandbox, by reason.\n"
        "# TYPE deft_warm_miss_total counter\n"
        "deft_warm_miss_total{reason=\"none_ready\"} 1\n"
        "deft_warm_miss_total{reason=\"class\"} 3\n"
        "# HELP deft_start_seconds Time from the start request until the sandbox has its key.\n"
        "# TYPE deft_start_seconds histogram\n";
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf fewer = STRBUF_INIT;
    struct runtime_metrics *metrics = metrics_new();

    (void)state;
    metrics_set_pool(metrics, pools, 2);
    metrics_count_hit(metrics);
    metrics_count_hit(metrics);
    metrics_count_miss(metrics, MISS_NONE_READY);
    for (int i = 0; i < 3; i++)
        metrics_count_miss(metrics, MISS_CLASS);
    metrics_append(metrics, &no_counts, &unknown_space, &text);
    assert_memory_equal(text.text, expected, sizeof(expected) - 1);
    metrics_set_pool(metrics, pools + 1, 1);
    metrics_append(metrics, &no_counts, &unknown_space, &fewer);
    assert_null(strstr(fewer.text, "a\\\"b"));
    assert_non_null(strstr(fewer.text, "deft_warm_idle{image=\"x\""));
    metrics_free(metrics);
    metrics_free(NULL);
}

static void starts_are_counted_within_bounds(void **state)
{
    static const int64_t durations_ms[] = {5, 6, 30000, 30001};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct runtime_metrics *metrics = metrics_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(durations_ms); i++)
        metrics_count_start(metrics, START_COLD, durations_ms[i]);
    metrics_count_start(metrics, START_WARM, 250);
    metrics_append(metrics, &no_counts, &unknown_space, &text);
    assert_lines(&text, "deft_start_seconds_bucket{kind=\"warm\",le=\"0.1\"} 0\n"
                        "deft_start_seconds_bucket{kind=\"warm\",le=\"0.25\"} 1\n"
                        "deft_start_seconds_bucket{kind=\"warm\",le=\"0.5\"} 1\n");
    assert_lines(&text, "deft_start_seconds_sum{kind=\"warm\"} 0.25\n"
                        "deft_start_seconds_count{kind=\"warm\"} 1\n");
    assert_lines(&text, "deft_start_seconds_bucket{kind=\"cold\",le=\"0.005\"} 1\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"0.01\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"0.02\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"0.05\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"0.1\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"0.25\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"0.5\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"1\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"2.5\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"5\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"10\"} 2\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"30\"} 3\n"
                        "deft_start_seconds_bucket{kind=\"cold\",le=\"+Inf\"} 4\n"
                        "deft_start_seconds_sum{kind=\"cold\"} 60.012\n"
                        "deft_start_seconds_count{kind=\"cold\"} 4\n"
                        "# HELP deft_start_failed_total Failed starts, by reason.\n"
                        "# TYPE deft_start_failed_total counter\n");
    assert_string_equal(start_kind_to_string(START_WARM), "warm");
    assert_string_equal(start_kind_to_string(START_COLD), "cold");
    metrics_free(metrics);
}

static void failures_are_counted_by_reason(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct runtime_metrics *metrics = metrics_new();

    (void)state;
    metrics_count_failure(metrics, "no space left on device");
    metrics_count_failure(metrics, "whatever");
    metrics_count_failure(metrics, "whatever else");
    metrics_append(metrics, &no_counts, &unknown_space, &text);
    for (size_t i = 0; i < FAILURE_REASONS_MAX; i++) {
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

        if (failure_reason_at(i) == NULL)
            continue;
        strbuf_appendf(&line, "deft_start_failed_total{reason=\"%s\"} %d\n", failure_reason_at(i),
                       i == failure_reason_index("no space left on device") ? 1
                       : i == failure_reason_index("x")                     ? 2
                                                                            : 0);
        assert_lines(&text, line.text);
    }
    metrics_free(metrics);
}

static void sandboxes_and_space_are_shown_last(void **state)
{
    char mine[] = "my \"key\"";
    char none[] = "";
    char running[] = "running";
    char paused[] = "paused";
    struct tenant_count counts[] = {{none, running, 4}, {mine, paused, 1}};
    const struct tenant_count_list list = {.items = counts, .n = 2};
    const struct backend_space bytes_only = {.free_bytes = 0, .n_free_files = INT64_MAX};
    const struct backend_space space = {.free_bytes = 1000, .n_free_files = 50};
    static const char head[] = "# HELP deft_sandboxes Sandboxes, by status and Runtime API key.\n"
                               "# TYPE deft_sandboxes gauge\n"
                               "deft_sandboxes{tenant=\"\",status=\"running\"} 4\n"
                               "deft_sandboxes{tenant=\"my \\\"key\\\"\",status=\"paused\"} 1\n";
    static const char bytes[] =
        "# HELP deft_disk_free_bytes Free bytes on the disk of the engine's data.\n"
        "# TYPE deft_disk_free_bytes gauge\ndeft_disk_free_bytes 1000\n"
        "# HELP deft_disk_free_files Free inodes on the disk of the engine's data.\n"
        "# TYPE deft_disk_free_files gauge\ndeft_disk_free_files 50\n";
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct runtime_metrics *metrics = metrics_new();

    (void)state;
    metrics_append(metrics, &list, &unknown_space, &text);
    assert_string_equal(strstr(text.text, "# HELP deft_sandboxes"), head);
    strbuf_reset(&text);
    metrics_append(metrics, &no_counts, &bytes_only, &text);
    assert_lines(&text, "\ndeft_disk_free_bytes 0\n");
    assert_null(strstr(text.text, "deft_disk_free_files"));
    strbuf_reset(&text);
    metrics_append(metrics, &no_counts, &space, &text);
    assert_string_equal(strstr(text.text, "# HELP deft_disk"), bytes);
    metrics_free(metrics);
}

int test_runtime_metrics(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_are_shown_by_class),
        cmocka_unit_test(starts_are_counted_within_bounds),
        cmocka_unit_test(failures_are_counted_by_reason),
        cmocka_unit_test(sandboxes_and_space_are_shown_last),
    };

    return cmocka_run_group_tests_name("runtime/runtime_metrics", tests, NULL, NULL);
}
