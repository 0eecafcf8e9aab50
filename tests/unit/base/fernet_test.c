#include "base/fernet.h"

#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "unit/base/base_test.h"

/* 1985-10-26T01:20:00-07:00, the `now` of generate.json. */
enum { GENERATED_AT_S = 499162800, VECTOR_MAX_BYTES = 65536 };

static void read_vectors(const char *name, json_t **vectors_out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/fernet/%s", DEFT_TEST_DATA, name);
    if (file_read(path.text, VECTOR_MAX_BYTES, &text, &err) < 0 ||
        json_parse(text.text, text.len, vectors_out, &err) < 0)
        fail_msg("%s", err.message);
}

static void read_key(const char *encoded, struct strbuf *key)
{
    CLEANUP(strbuf_done) struct strbuf digits = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_append_bytes(&digits, encoded, strcspn(encoded, "="));
    if (base64url_decode(digits.text, key, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(key->len, CRYPTO_KEY_BYTES);
}

static void token_is_the_specifications(void **state)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(secret_done) struct secret opened = SECRET_INIT;
    struct fernet_stamp stamp = {.utc_s = GENERATED_AT_S};
    struct error err = ERROR_INIT;
    json_auto_t *vectors = NULL;
    const json_t *vector = NULL;

    (void)state;
    read_vectors("generate.json", &vectors);
    vector = json_array_get(vectors, 0);
    read_key(json_text_or(vector, "secret", ""), &key);
    secret_set(&plain, json_text_or(vector, "src", ""));
    for (size_t i = 0; i < FERNET_IV_BYTES; i++)
        stamp.iv[i] =
            (unsigned char)json_integer_value(json_array_get(json_object_get(vector, "iv"), i));
    fernet_append_stamped((const unsigned char *)key.text, &plain, &stamp, &token);
    assert_string_equal(token.text, json_text_or(vector, "token", ""));
    assert_int_equal(fernet_open((const unsigned char *)key.text, token.text, &opened, &err), 0);
    assert_string_equal(secret_reveal(&opened), "hello");
}

static void invalid_tokens_of_the_specification_stay_shut(void **state)
{
    json_auto_t *vectors = NULL;
    json_t *vector = NULL;
    size_t i = 0;

    (void)state;
    read_vectors("invalid.json", &vectors);
    assert_true(json_array_size(vectors) > 0);
    json_array_foreach (vectors, i, vector) {
        CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
        CLEANUP(secret_done) struct secret plain = SECRET_INIT;
        struct error err = ERROR_INIT;

        read_key(json_text_or(vector, "secret", ""), &key);
        assert_int_equal(fernet_open((const unsigned char *)key.text,
                                     json_text_or(vector, "token", ""), &plain, &err),
                         -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void fresh_token_looks_like_one_and_opens_with_its_key_alone(void **state)
{
    unsigned char key[CRYPTO_KEY_BYTES];
    unsigned char other[CRYPTO_KEY_BYTES];
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(secret_done) struct secret opened = SECRET_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    crypto_random(key, sizeof(key));
    crypto_random(other, sizeof(other));
    secret_set(&plain, "");
    fernet_append(key, &plain, &token);
    assert_true(fernet_is_token(token.text));
    assert_false(fernet_is_token("sk-plain"));
    assert_int_equal(fernet_open(key, token.text, &opened, &err), 0);
    assert_int_equal(opened.len, 0);
    assert_int_equal(fernet_open(other, token.text, &opened, &err), -1);
}

/* Whole blocks and parts of them. */
static void secrets_of_any_length_come_back(void **state)
{
    unsigned char key[CRYPTO_KEY_BYTES];
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    crypto_random(key, sizeof(key));
    for (size_t n = 0; n <= 50; n++) {
        CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
        CLEANUP(secret_done) struct secret plain = SECRET_INIT;
        CLEANUP(secret_done) struct secret opened = SECRET_INIT;
        struct error err = ERROR_INIT;

        secret_set(&plain, text.text);
        fernet_append(key, &plain, &token);
        assert_int_equal(token.len % 4, 0);
        assert_int_equal(fernet_open(key, token.text, &opened, &err), 0);
        assert_string_equal(secret_reveal(&opened), text.text);
        /* Padding may be missing. */
        while (token.text[token.len - 1] == '=')
            strbuf_truncate(&token, token.len - 1);
        assert_int_equal(fernet_open(key, token.text, &opened, &err), 0);
        strbuf_append_char(&text, (char)('a' + n % 26));
    }
}

/*
 * With keys whose half that signs is right and whose half that enciphers is not. The padding of
 * what they decipher is right by chance, with one in 256.
 */
static void assert_damage_is_noticed(const unsigned char *key, const char *token)
{
    unsigned char other[CRYPTO_KEY_BYTES];
    size_t n_noticed = 0;

    for (unsigned char i = 1; i <= 16; i++) {
        CLEANUP(secret_done) struct secret plain = SECRET_INIT;
        struct error err = ERROR_INIT;

        memcpy(other, key, sizeof(other));
        other[CRYPTO_KEY_BYTES - 1] ^= i;
        if (fernet_open(other, token, &plain, &err) == 0) {
            assert_string_not_equal(secret_reveal(&plain), "words");
            continue;
        }
        assert_string_equal(err.message, "a sealed secret is damaged");
        n_noticed++;
    }
    assert_true(n_noticed > 0);
}

static void tokens_that_are_none_are_told_apart(void **state)
{
    unsigned char key[CRYPTO_KEY_BYTES];
    unsigned char other[CRYPTO_KEY_BYTES];
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    crypto_random(key, sizeof(key));
    memcpy(other, key, sizeof(other));
    other[CRYPTO_KEY_BYTES - 1] ^= 1U;
    assert_int_equal(fernet_open(key, "", &plain, &err), -1);
    assert_string_equal(err.message, "not a sealed secret");
    assert_int_equal(fernet_open(key, "gAAAA", &plain, &err), -1);
    assert_string_equal(err.message, "not base64url: wrong length");
    secret_set(&plain, "words");
    fernet_append(key, &plain, &token);
    assert_damage_is_noticed(key, token.text);
    other[0] ^= 1U;
    assert_int_equal(fernet_open(other, token.text, &plain, &err), -1);
    assert_string_equal(err.message, "a secret that was not sealed by this server");
    token.text[0] = 'h';
    assert_int_equal(fernet_open(key, token.text, &plain, &err), -1);
    assert_string_equal(err.message, "not a sealed secret");
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(secret_reveal(&plain), "words");
}

int fernet_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_is_the_specifications),
        cmocka_unit_test(invalid_tokens_of_the_specification_stay_shut),
        cmocka_unit_test(fresh_token_looks_like_one_and_opens_with_its_key_alone),
        cmocka_unit_test(secrets_of_any_length_come_back),
        cmocka_unit_test(tokens_that_are_none_are_told_apart),
    };

    return cmocka_run_group_tests_name("base/fernet", tests, NULL, NULL);
}
