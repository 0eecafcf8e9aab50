/*
 * Any settings and profiles are accepted or refused; what is accepted is read again as the same,
 * and its secrets leave and return. Any text is a token of ours or none.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/fernet.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "json_setup.h"
#include "model/agent/agent_profile.h"
#include "model/agent/agent_settings.h"
#include "model/conversation/conversation.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_path place = {NULL, "body", 0};
static const struct conversation_defaults defaults = {RUNTIME_LOCAL, "scripted/hello", NULL, false};

static void check_secrets(json_t *settings)
{
    json_auto_t *hidden = json_deep_copy(settings);
    json_auto_t *again = NULL;
    json_auto_t *members = json_object();
    json_auto_t *none = json_object();

    secrets_take(&settings_secrets, hidden, members);
    again = json_deep_copy(hidden);
    secrets_take(&settings_secrets, again, none);
    assert(json_object_size(none) == 0);
    secrets_restore(&settings_secrets, hidden, members);
    secrets_take(&settings_secrets, hidden, none);
    assert(json_equal(members, none));
}

static void check_settings(json_t *input)
{
    json_auto_t *problems = json_array();
    json_auto_t *settings = agent_settings_read(input, &defaults, &place, problems);
    json_auto_t *again = NULL;

    if (json_array_size(problems) > 0)
        return;
    again = agent_settings_read(settings, &defaults, &place, problems);
    assert(json_array_size(problems) == 0);
    assert(json_equal(again, settings));
    check_secrets(settings);
    settings_merge(again, input);
}

static void check_profiles(json_t *input)
{
    json_auto_t *problems = json_array();
    json_auto_t *profile = agent_profile_read(input, &place, problems);
    json_auto_t *again = NULL;
    json_auto_t *meta = NULL;
    json_auto_t *conversation = NULL;

    if (json_array_size(problems) == 0) {
        again = agent_profile_read(profile, &place, problems);
        assert(json_array_size(problems) == 0);
        assert(json_equal(again, profile));
    }
    meta = meta_profile_read(input, &place, problems);
    conversation = conversation_settings_read(input, &place, problems);
    assert(meta != NULL && conversation != NULL);
}

/* Nothing that was not made with the key opens. */
static void check_token(const uint8_t *data, size_t size)
{
    static const unsigned char key[CRYPTO_KEY_BYTES] = {1, 2, 3};
    CLEANUP(mem_freep) char *text = mem_dup_bytes(data, size);
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    struct error err = ERROR_INIT;
    int rc = fernet_open(key, text, &plain, &err);

    assert(rc == -1 && err.code == ERROR_INVALID);
    (void)rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    json_auto_t *input = NULL;

    check_token(data, size);
    if (json_parse((const char *)data, size, &input, &err) < 0 || !json_is_object(input))
        return 0;
    check_settings(input);
    check_profiles(input);
    return 0;
}
