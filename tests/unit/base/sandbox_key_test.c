#include "base/sandbox_key.h"

#include <string.h>

#include "base/secret.h"
#include "unit/base/base_test.h"

#define CALL_KEY "0fa222fa703e4e6f407ed86e247e27c6e9dc91d0d2906c940b09384098918bab"
#define PROOF_KEY "d94699a7e04199c4c4723725e9ed6efffe185c93e0f74f9eab9cead1191e2b87"
#define PROOF "8a18a08cd50ad906a2d183ba410dffc84685a673151e0a07d1e799be32053f58"
#define ADDRESS "10.1.2.3:8000"
#define NONCE "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

/* RFC 4231, test cases 2 and 6: a short key, and one that is longer than a block. */
static void hmac_is_that_of_the_rfc(void **state)
{
    char hex[CRYPTO_HASH_HEX_BYTES];
    char key[132];

    (void)state;
    crypto_hmac_hex("Jefe", "what do ya want for nothing?", hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    crypto_hmac_hex(key, "Test Using Larger Than Block-Size Key - Hash Key First", hex);
    assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* By another implementation: printf %s LABEL | openssl dgst -sha256 -hmac KEY */
static void keys_and_proof_have_these_values(void **state)
{
    CLEANUP(secret_done) struct secret call = SECRET_INIT;
    CLEANUP(secret_done) struct secret proof_key = SECRET_INIT;
    char proof[CRYPTO_HASH_HEX_BYTES];

    (void)state;
    sandbox_key_derive("session-key", SANDBOX_KEY_CALL, &call);
    sandbox_key_derive("session-key", SANDBOX_KEY_PROOF, &proof_key);
    sandbox_proof_make(&proof_key, NONCE, ADDRESS, proof);
    assert_string_equal(secret_reveal(&call), CALL_KEY);
    assert_string_equal(secret_reveal(&proof_key), PROOF_KEY);
    assert_string_equal(proof, PROOF);
}

static void proof_is_of_its_key_nonce_and_address(void **state)
{
    static const char other_nonce[] =
        "100102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(secret_done) struct secret other = SECRET_INIT;
    char proofs[4][CRYPTO_HASH_HEX_BYTES];

    (void)state;
    sandbox_key_derive("one", SANDBOX_KEY_PROOF, &key);
    sandbox_key_derive("two", SANDBOX_KEY_PROOF, &other);
    sandbox_proof_make(&key, NONCE, ADDRESS, proofs[0]);
    sandbox_proof_make(&other, NONCE, ADDRESS, proofs[1]);
    sandbox_proof_make(&key, other_nonce, ADDRESS, proofs[2]);
    sandbox_proof_make(&key, NONCE, "10.1.2.3:8001", proofs[3]);
    for (size_t i = 1; i < ARRAY_SIZE(proofs); i++)
        assert_string_not_equal(proofs[0], proofs[i]);
}

static void nonce_is_fresh_and_of_its_form(void **state)
{
    char one[SANDBOX_NONCE_BYTES];
    char two[SANDBOX_NONCE_BYTES];

    (void)state;
    sandbox_nonce_make(one);
    sandbox_nonce_make(two);
    assert_string_not_equal(one, two);
    assert_true(sandbox_nonce_is_valid(one));
    assert_false(sandbox_nonce_is_valid(""));
    assert_false(sandbox_nonce_is_valid(NONCE "0"));
    assert_false(sandbox_nonce_is_valid(NONCE ":"));
    one[3] = 'A';
    assert_false(sandbox_nonce_is_valid(one));
    two[SANDBOX_NONCE_CHARS - 1] = '\0';
    assert_false(sandbox_nonce_is_valid(two));
}

static void every_byte_of_a_nonce_is_random(void **state)
{
    char first[SANDBOX_NONCE_BYTES];
    bool is_other[SANDBOX_NONCE_CHARS] = {false};

    (void)state;
    sandbox_nonce_make(first);
    for (int i = 0; i < 64; i++) {
        char nonce[SANDBOX_NONCE_BYTES];

        sandbox_nonce_make(nonce);
        for (size_t at = 0; at < SANDBOX_NONCE_CHARS; at++)
            is_other[at] = is_other[at] || nonce[at] != first[at];
    }
    for (size_t at = 0; at < SANDBOX_NONCE_CHARS; at++)
        assert_true(is_other[at]);
}

int sandbox_key_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hmac_is_that_of_the_rfc),
        cmocka_unit_test(keys_and_proof_have_these_values),
        cmocka_unit_test(proof_is_of_its_key_nonce_and_address),
        cmocka_unit_test(nonce_is_fresh_and_of_its_form),
        cmocka_unit_test(every_byte_of_a_nonce_is_random),
    };

    return cmocka_run_group_tests_name("base/sandbox_key", tests, NULL, NULL);
}
