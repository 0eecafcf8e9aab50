#include "runtime/docker/container_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/core/sandbox_init.h"
#include "runtime/docker/docker_settings.h"
#include "unit/runtime/runtime_test.h"

#define N_RANDOM 10000

static const struct docker_profile profile = {.memory_bytes = 1LL << 32,
                                              .nano_cpus = 2000000000,
                                              .n_pids = 512,
                                              .n_files = 8192,
                                              .oom_score_adj = 500,
                                              .tmp_bytes = 1LL << 30,
                                              .shm_bytes = 1LL << 28,
                                              .has_resolver = true,
                                              .oci_runtime = "",
                                              .seccomp_profile = ""};
static const struct docker_names names = {.instance = "deft",
                                          .network = "deft-net-0",
                                          .action_volume = "deft-action-0",
                                          .workspace_volume = "deft-ws-0",
                                          .journal_volume = "deft-j-0",
                                          .init_key = "once"};

/* Members that are the same for all requests. */
static const char constants[] =
    "{\"User\": \"0:0\", \"WorkingDir\": \"/workspace\", \"Hostname\": \"sandbox\","
    " \"Entrypoint\": [\"/.deft/deft-action\"], \"Cmd\": [], \"Tty\": false, \"OpenStdin\": false,"
    " \"AttachStdin\": false, \"Healthcheck\": {\"Test\": [\"NONE\"]}, \"StopSignal\": \"SIGTERM\","
    " \"HostConfig\": {\"Privileged\": false, \"CapDrop\": [\"ALL\"], \"CapAdd\": [\"CHOWN\", "
    "\"DAC_READ_SEARCH\", \"SETGID\", \"SETPCAP\", \"SETUID\"],"
    "  \"ReadonlyRootfs\": false, \"Init\": false, \"IpcMode\": \"private\", \"PidMode\": \"\","
    "  \"UTSMode\": \"\", \"UsernsMode\": \"\", \"CgroupnsMode\": \"private\","
    "  \"NetworkMode\": \"deft-net-0\", \"PublishAllPorts\": false, \"PortBindings\": {},"
    "  \"ExtraHosts\": [], \"Links\": [], \"Binds\": [], \"Devices\": [],"
    "  \"Dns\": [\"192.0.2.53\"], \"DnsSearch\": [\".\"],"
    "  \"DnsOptions\": [\"timeout:2\", \"attempts:3\"],"
    "  \"DeviceCgroupRules\": [], \"RestartPolicy\": {\"Name\": \"no\", \"MaximumRetryCount\": 0},"
    "  \"LogConfig\": {\"Type\": \"local\", \"Config\": {\"max-size\": \"1m\", \"max-file\": "
    "\"2\"}},"
    "  \"Memory\": 4294967296, \"MemorySwap\": 4294967296, \"NanoCpus\": 2000000000,"
    "  \"CpuShares\": 512, \"PidsLimit\": 512, \"ShmSize\": 268435456,"
    "  \"Ulimits\": [{\"Name\": \"nofile\", \"Soft\": 4096, \"Hard\": 8192},"
    "               {\"Name\": \"core\", \"Soft\": 0, \"Hard\": 0}],"
    "  \"OomScoreAdj\": 500, \"SecurityOpt\": [\"no-new-privileges:true\"],"
    "  \"Tmpfs\": {\"/tmp\": "
    "\"rw,exec,nosuid,nodev,mode=1777,size=1073741824,uid=10001,gid=10001\"},"
    "  \"Mounts\": ["
    "   {\"Type\": \"volume\", \"Source\": \"deft-action-0\", \"Target\": \"/.deft\","
    "    \"ReadOnly\": true, \"VolumeOptions\": {\"NoCopy\": true}},"
    "   {\"Type\": \"volume\", \"Source\": \"deft-j-0\", \"Target\": \"/.deft-j\","
    "    \"VolumeOptions\": {\"NoCopy\": true}},"
    "   {\"Type\": \"volume\", \"Source\": \"deft-ws-0\", \"Target\": \"/workspace\","
    "    \"VolumeOptions\": {\"NoCopy\": true}}]}}";

static json_t *create(const struct sandbox_config *order)
{
    struct error err = ERROR_INIT;
    json_t *body = container_config_json(&profile, &names, order, &err);

    assert_non_null(body);
    return body;
}

static void disk_is_held_to_what_the_engine_can(void **state)
{
    const struct sandbox_config order = {.runtime_id = "abcdefghijklmnop",
                                         .session_id = "",
                                         .conversation_id = "",
                                         .image = "i",
                                         .home = "h"};
    struct docker_profile limited = profile;
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *body = NULL;
    const json_t *limit = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    limited.disk_bytes = 1000;
    limited.layer_bytes = 2000;
    body = container_config_json(&limited, &names, &order, &err);
    assert_non_null(body);
    text = json_to_text(json_object_get(json_object_get(body, "HostConfig"), "StorageOpt"));
    assert_string_equal(text, "{\"size\":\"2000\"}");
    limit = json_array_get(json_object_get(json_object_get(body, "HostConfig"), "Ulimits"), 1);
    assert_string_equal(json_text_or(limit, "Name", ""), "fsize");
    assert_int_equal(json_integer_value(json_object_get(limit, "Soft")), 1000);
    assert_int_equal(json_integer_value(json_object_get(limit, "Hard")), 1000);
}

/* Takes out what may vary, and holds the rest against the constants. */
static void assert_constants(json_t *body)
{
    json_auto_t *expected = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(json_parse(constants, sizeof(constants) - 1, &expected, &err), 0);
    assert_int_equal(json_object_del(body, "Image"), 0);
    assert_int_equal(json_object_del(body, "Env"), 0);
    assert_int_equal(json_object_del(body, "Labels"), 0);
    assert_true(json_equal(body, expected));
}

static void fields_are_exactly_these(void **state)
{
    const struct sandbox_config order = {.runtime_id = "abcdefghijklmnop",
                                         .session_id = "c-1",
                                         .conversation_id = "",
                                         .image = "debian:12",
                                         .home = "0"};
    json_auto_t *body = create(&order);
    json_t *labels = json_object_get(body, "Labels");

    (void)state;
    assert_string_equal(json_text_or(body, "Image", ""), "debian:12");
    assert_string_equal(json_text_or(labels, "deft.managed", ""), "1");
    assert_string_equal(json_text_or(labels, "deft.instance", ""), "deft");
    assert_string_equal(json_text_or(labels, "deft.runtime_id", ""), "abcdefghijklmnop");
    assert_string_equal(json_text_or(labels, "deft.session_id", ""), "c-1");
    assert_constants(body);
}

static bool has_entry(const json_t *list, const char *entry)
{
    size_t i = 0;
    const json_t *item = NULL;

    json_array_foreach (list, i, item) {
        if (text_equal(json_string_value(item), entry))
            return true;
    }
    return false;
}

static void environment_is_only_ours(void **state)
{
    const struct sandbox_config order = {.runtime_id = "abcdefghijklmnop",
                                         .session_id = "",
                                         .conversation_id = "",
                                         .image = "i",
                                         .home = "0123456789-20004"};
    json_auto_t *body = create(&order);
    const json_t *list = json_object_get(body, "Env");

    (void)state;
    assert_int_equal(json_array_size(list), 7);
    assert_true(has_entry(list, "RUNTIME_ID=abcdefghijklmnop"));
    assert_true(has_entry(list, "DEFT_ACTION_INIT_KEY=once"));
    assert_true(has_entry(list, "DEFT_ACTION_SERVER_UID=20005"));
    assert_true(has_entry(list, "DEFT_ACTION_COMMAND_UID=20004"));
    assert_true(has_entry(list, "DEFT_ACTION_GID=10001"));
    assert_true(has_entry(list, "DEFT_ACTION_ACCOUNT_UID=10001"));
    assert_true(has_entry(list, "DEFT_ACTION_SAVE_DIR=/workspace/.openhands/outputs"));
    assert_null(json_object_get(json_object_get(body, "Labels"), "deft.session_id"));
}

static void handed_over_environment_says_nothing_of_the_server(void **state)
{
    json_auto_t *wanted = json_object();
    json_auto_t *given = NULL;

    (void)state;
    json_put_text(wanted, "SESSION_API_KEY", "forged");
    json_put_text(wanted, "LD_PRELOAD", "/x.so");
    json_put_text(wanted, "DEFT_ACTION_OPEN", "1");
    json_put_text(wanted, "RUNTIME_ID", "forged");
    json_put_text(wanted, "COLOUR", "blue\nred");
    json_put_text(wanted, "WORKER_2", "9999");
    given = sandbox_init_environment(wanted);
    assert_int_equal(json_object_size(given), 4);
    assert_string_equal(json_text_or(given, "VSCODE", ""), "60001");
    assert_string_equal(json_text_or(given, "WORKER_1", ""), "12000");
    assert_string_equal(json_text_or(given, "WORKER_2", ""), "9999");
    assert_string_equal(json_text_or(given, "COLOUR", ""), "blue\nred");
}

static void random_text(char *text, size_t size)
{
    static const char alphabet[] = "abz09 \"'\\{}[]:,$`;|&<>/.-_\n\t=%\x01\x7f\xc3\xff";
    unsigned char bytes[64];

    crypto_random(bytes, sizeof(bytes));
    for (size_t i = 0; i + 1 < size; i++)
        text[i] = alphabet[bytes[i] % (sizeof(alphabet) - 1)];
    text[size - 1] = '\0';
}

/* Whatever the labels contain, only those three members differ. */
static void nothing_asked_for_changes_the_confinement(void **state)
{
    (void)state;
    for (int i = 0; i < N_RANDOM; i++) {
        char text[2][40];
        const struct sandbox_config order = {.runtime_id = "abcdefghijklmnop",
                                             .session_id = text[0],
                                             .conversation_id = text[1],
                                             .image = "any",
                                             .home = "0"};
        json_auto_t *body = NULL;

        for (size_t k = 0; k < ARRAY_SIZE(text); k++)
            random_text(text[k], sizeof(text[k]));
        body = create(&order);
        assert_constants(body);
    }
}

static void what_is_asked_for_in_size_counts(void **state)
{
    const struct sandbox_config order = {.runtime_id = "abcdefghijklmnop",
                                         .session_id = "c-1",
                                         .conversation_id = "x",
                                         .image = "i",
                                         .home = "0",
                                         .memory_bytes = 1 << 29,
                                         .nano_cpus = 500000000};
    json_auto_t *body = create(&order);
    json_t *host = json_object_get(body, "HostConfig");

    (void)state;
    assert_int_equal(json_int_or(host, "Memory", 0), 1 << 29);
    assert_int_equal(json_int_or(host, "MemorySwap", 0), 1 << 29);
    assert_int_equal(json_int_or(host, "NanoCpus", 0), 500000000);
}

static void settings_of_the_host_are_taken(void **state)
{
    struct docker_profile strict = profile;
    const struct sandbox_config order = {.runtime_id = "abcdefghijklmnop",
                                         .session_id = "c-1",
                                         .conversation_id = "",
                                         .image = "i",
                                         .home = "0123456789-20004"};
    struct error err = ERROR_INIT;
    json_auto_t *body = NULL;
    json_t *host = NULL;

    (void)state;
    strict.is_root_read_only = 1;
    strict.oci_runtime = "runsc";
    strict.seccomp_profile = "{}";
    strict.n_files = 0;
    strict.oom_score_adj = 0;
    body = container_config_json(&strict, &names, &order, &err);
    host = json_object_get(body, "HostConfig");
    assert_true(json_is_true(json_object_get(host, "ReadonlyRootfs")));
    assert_string_equal(json_text_or(host, "Runtime", ""), "runsc");
    assert_true(has_entry(json_object_get(host, "SecurityOpt"), "seccomp={}"));
    assert_int_equal(json_array_size(json_object_get(host, "Ulimits")), 1);
    assert_null(json_object_get(host, "OomScoreAdj"));
    assert_non_null(
        strstr(json_text_or(json_object_get(host, "Tmpfs"), "/tmp", ""), ",uid=20004,gid=10001"));
}

int test_container_config(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_exactly_these),
        cmocka_unit_test(environment_is_only_ours),
        cmocka_unit_test(handed_over_environment_says_nothing_of_the_server),
        cmocka_unit_test(nothing_asked_for_changes_the_confinement),
        cmocka_unit_test(what_is_asked_for_in_size_counts),
        cmocka_unit_test(settings_of_the_host_are_taken),
        cmocka_unit_test(disk_is_held_to_what_the_engine_can),
    };

    return cmocka_run_group_tests_name("runtime/container_config", tests, NULL, NULL);
}
