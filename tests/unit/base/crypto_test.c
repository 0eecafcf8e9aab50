#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

static const char ROOT[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

static void keyring_of(const char *root, struct keyring *keyring)
{
    CLEANUP(secret_done) struct secret secret = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&secret, root);
    if (keyring_init(keyring, &secret, &err) < 0)
        fail_msg("%s", err.message);
}

/* FIPS 180-4's own example, and the empty text. */
static void sha256_is_the_standards(void **state)
{
    char hex[CRYPTO_HASH_HEX_BYTES];

    (void)state;
    crypto_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    crypto_sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* RFC 7914, section 11: its first half. */
static void password_hash_is_pbkdf2(void **state)
{
    CLEANUP(secret_done) struct secret password = SECRET_INIT;
    char hex[CRYPTO_HASH_HEX_BYTES];

    (void)state;
    secret_set(&password, "passwd");
    crypto_password_hex(&password, "salt", 1, hex);
    assert_string_equal(hex, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc");
}

/* RFC 4231, cases 1 and 2: HMAC fills a short key up with zeros, so it fits into ours. */
static void token_hash_is_hmac_sha256(void **state)
{
    struct keyring keyring = {.hash = {0}};
    char hex[CRYPTO_HASH_HEX_BYTES];

    (void)state;
    memset(keyring.hash, 0x0b, 20);
    keyring_hash_token(&keyring, "Hi There", hex);
    assert_string_equal(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    memset(keyring.hash, 0, sizeof(keyring.hash));
    memcpy(keyring.hash, "Jefe", 4);
    keyring_hash_token(&keyring, "what do ya want for nothing?", hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    /* All of the key counts: here its last byte is no zero. */
    for (size_t i = 0; i < sizeof(keyring.hash); i++)
        keyring.hash[i] = (unsigned char)(i + 1);
    keyring_hash_token(&keyring, "Hi There", hex);
    assert_string_equal(hex, "45131af2422d643aed31b05ef8bbf08548235405e900cdd3308047abbbcab639");
}

/* RFC 5869 with SHA-256, as other implementations of HKDF derive it from the same root. */
static void keys_are_derived_by_label(void **state)
{
    struct keyring keyring;
    char hex[2 * CRYPTO_KEY_BYTES + 1];

    (void)state;
    keyring_of(ROOT, &keyring);
    hex_encode(keyring.hash, sizeof(keyring.hash), hex);
    assert_string_equal(hex, "665f78b3163f2fb0f285759efa7e5ffe6ce752ee3d032da9068f83fc808b237c");
    assert_memory_not_equal(keyring.seal, keyring.hash, CRYPTO_KEY_BYTES);
}

static void hash_key_knows_tokens_again_and_opens_nothing(void **state)
{
    struct keyring whole;
    struct keyring part;
    CLEANUP(secret_done) struct secret hash_key = SECRET_INIT;
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    struct error err = ERROR_INIT;
    char hex[2][CRYPTO_HASH_HEX_BYTES];

    (void)state;
    keyring_of(ROOT, &whole);
    keyring_hash_key(&whole, hex[0]);
    secret_set(&hash_key, hex[0]);
    assert_int_equal(keyring_init_hash(&part, &hash_key, &err), 0);
    keyring_hash_token(&whole, "sk-deft-a", hex[0]);
    keyring_hash_token(&part, "sk-deft-a", hex[1]);
    assert_string_equal(hex[0], hex[1]);
    secret_set(&plain, "words");
    keyring_seal(&whole, "place", &plain, &sealed);
    assert_int_equal(keyring_open(&part, "place", sealed.text, &plain, &err), -1);
    assert_memory_not_equal(part.fernet, whole.fernet, sizeof(whole.fernet));
    secret_set(&hash_key, "abc");
    assert_int_equal(keyring_init_hash(&part, &hash_key, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void bad_root_is_refused(void **state)
{
    static const char *const roots[] = {"", "abc", "zz"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
        CLEANUP(secret_done) struct secret secret = SECRET_INIT;
        struct keyring keyring;
        struct error err = ERROR_INIT;

        secret_set(&secret, roots[i]);
        assert_int_equal(keyring_init(&keyring, &secret, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static int open_sealed(const struct keyring *keyring, const char *context, const char *sealed,
                       char **text_out)
{
    CLEANUP(secret_done) struct secret secret = SECRET_INIT;
    struct error err = ERROR_INIT;

    if (keyring_open(keyring, context, sealed, &secret, &err) < 0) {
        assert_int_equal(err.code, ERROR_INTERNAL);
        return -1;
    }
    *text_out = mem_dup_text(secret_reveal(&secret));
    return 0;
}

/* Sealed by another implementation of AES-256-GCM: the form at rest must never change. */
static void old_seals_stay_readable(void **state)
{
    CLEANUP(mem_freep) char *text = NULL;
    struct keyring keyring;

    (void)state;
    keyring_of(ROOT, &keyring);
    assert_int_equal(open_sealed(&keyring, "t/c/1",
                                 "v1.AAECAwQFBgcICQoL1-uulikxblUqUvwAyS5VZ_KgPVzkLLoCd3w", &text),
                     0);
    assert_string_equal(text, "plain text");
}

static void sealed_value_opens_at_its_place_alone(void **state)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf second = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    struct keyring keyring;
    struct keyring other;

    (void)state;
    keyring_of(ROOT, &keyring);
    keyring_of("ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", &other);
    secret_set(&plain, "hunter2");
    keyring_seal(&keyring, "a", &plain, &first);
    keyring_seal(&keyring, "a", &plain, &second);
    assert_string_not_equal(first.text, second.text);
    assert_int_equal(open_sealed(&keyring, "b", first.text, &text), -1);
    assert_int_equal(open_sealed(&other, "a", first.text, &text), -1);
    assert_int_equal(open_sealed(&keyring, "a", first.text, &text), 0);
    assert_string_equal(text, "hunter2");
}

static void empty_secret_can_be_sealed(void **state)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    struct keyring keyring;

    (void)state;
    keyring_of(ROOT, &keyring);
    keyring_seal(&keyring, "a", &plain, &sealed);
    assert_int_equal(open_sealed(&keyring, "a", sealed.text, &text), 0);
    assert_string_equal(text, "");
}

static void every_changed_character_is_noticed(void **state)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    struct keyring keyring;

    (void)state;
    keyring_of(ROOT, &keyring);
    /* 12 + 6 + 16 bytes leave unused bits in the last character, so it stays as it is. */
    secret_set(&plain, "secret");
    keyring_seal(&keyring, "a", &plain, &sealed);
    for (size_t i = 0; i + 1 < sealed.len; i++) {
        char kept = sealed.text[i];

        sealed.text[i] = (char)(kept == 'A' ? 'B' : 'A');
        assert_int_equal(open_sealed(&keyring, "a", sealed.text, &text), -1);
        sealed.text[i] = kept;
    }
    strbuf_truncate(&sealed, 10);
    assert_int_equal(open_sealed(&keyring, "a", sealed.text, &text), -1);
    assert_int_equal(open_sealed(&keyring, "a", "", &text), -1);
}

static void tokens_are_long_and_differ(void **state)
{
    char first[CRYPTO_TOKEN_BYTES];
    char second[CRYPTO_TOKEN_BYTES];

    (void)state;
    crypto_random_token(first);
    crypto_random_token(second);
    assert_int_equal(strlen(first), CRYPTO_TOKEN_BYTES - 1);
    assert_int_equal(
        strspn(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        CRYPTO_TOKEN_BYTES - 1);
    assert_string_not_equal(first, second);
}

static void every_byte_is_random(void **state)
{
    unsigned char first[32];
    bool is_other[32] = {false};

    (void)state;
    crypto_random(first, sizeof(first));
    for (int i = 0; i < 64; i++) {
        unsigned char bytes[32] = {0};

        crypto_random(bytes, sizeof(bytes));
        for (size_t at = 0; at < sizeof(bytes); at++)
            is_other[at] = is_other[at] || bytes[at] != first[at];
    }
    for (size_t at = 0; at < sizeof(first); at++)
        assert_true(is_other[at]);
}

static void password_hash_depends_on_salt_and_rounds(void **state)
{
    CLEANUP(secret_done) struct secret password = SECRET_INIT;
    char hexes[4][CRYPTO_HASH_HEX_BYTES];

    (void)state;
    secret_set(&password, "passwd");
    crypto_password_hex(&password, "salt", 1, hexes[0]);
    crypto_password_hex(&password, "salt", 2, hexes[1]);
    crypto_password_hex(&password, "salT", 1, hexes[2]);
    secret_set(&password, "passwe");
    crypto_password_hex(&password, "salt", 1, hexes[3]);
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = i + 1; k < 4; k++)
            assert_string_not_equal(hexes[i], hexes[k]);
    }
}

static void seals_that_are_none_are_told_apart(void **state)
{
    static const struct {
        const char *sealed;
        const char *message;
    } cases[] = {
        {"", "not a sealed value"},
        {"v2.AAAA", "not a sealed value"},
        {"v1.A", "a sealed value: not base64url: wrong length"},
        {"v1.!!!!", "a sealed value: not base64url: invalid character"},
        {"v1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "a sealed value is too short"},
        {"v1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "not sealed with this key for this record"},
    };
    struct keyring keyring;

    (void)state;
    keyring_of(ROOT, &keyring);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(secret_done) struct secret plain = SECRET_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(keyring_open(&keyring, "a", cases[i].sealed, &plain, &err), -1);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.code, ERROR_INTERNAL);
        assert_false(secret_is_set(&plain));
    }
}

int crypto_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_is_the_standards),
        cmocka_unit_test(password_hash_is_pbkdf2),
        cmocka_unit_test(token_hash_is_hmac_sha256),
        cmocka_unit_test(keys_are_derived_by_label),
        cmocka_unit_test(hash_key_knows_tokens_again_and_opens_nothing),
        cmocka_unit_test(bad_root_is_refused),
        cmocka_unit_test(old_seals_stay_readable),
        cmocka_unit_test(sealed_value_opens_at_its_place_alone),
        cmocka_unit_test(empty_secret_can_be_sealed),
        cmocka_unit_test(every_changed_character_is_noticed),
        cmocka_unit_test(tokens_are_long_and_differ),
        cmocka_unit_test(every_byte_is_random),
        cmocka_unit_test(password_hash_depends_on_salt_and_rounds),
        cmocka_unit_test(seals_that_are_none_are_told_apart),
    };

    return cmocka_run_group_tests_name("base/crypto", tests, NULL, NULL);
}
