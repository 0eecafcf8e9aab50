#include "client/sigv4.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"

/* 2015-08-30T12:36:00Z */
#define SUITE_UTC_US (INT64_C(1440938160) * 1000000)
#define SUITE_TOKEN                                                                                \
    "AQoDYXdzEPT//////////"                                                                        \
    "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwth" \
    "Ax7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFv" \
    "lRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9F" \
    "X9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
#define CREDENTIAL                                                                                 \
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "

static const struct http_header no_headers[] = {{NULL, NULL}};

static struct sigv4_request suite_request(const char *method, const char *url)
{
    return (struct sigv4_request){
        .access_key_id = "AKIDEXAMPLE",
        .secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        .session_token = "",
        .region = "us-east-1",
        .service = "service",
        .method = method,
        .url = url,
        .headers = no_headers,
        .body = "",
        .body_len = 0,
        .utc_us = SUITE_UTC_US,
    };
}

static void assert_authorization(const struct sigv4_request *request, const char *names,
                                 const char *signature)
{
    CLEANUP(sigv4_signature_done) struct sigv4_signature made = SIGV4_SIGNATURE_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    sigv4_sign(request, &made);
    strbuf_appendf(&expected, CREDENTIAL "SignedHeaders=%s, Signature=%s", names, signature);
    assert_string_equal(made.authorization.text, expected.text);
    assert_string_equal(made.date, "20150830T123600Z");
    assert_string_equal(made.session_token, request->session_token);
}

/*
 * From AWS's own test suite. It gives paths before their encoding, and signs them encoded once.
 * Our paths are encoded already, and are signed encoded once more.
 */
static void requests_of_the_vendors_suite_are_signed_alike(void **state)
{
    static const struct {
        const char *method;
        const char *url;
        const char *signature;
    } cases[] = {
        {"GET", "https://example.amazonaws.com/",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"GET", "https://example.amazonaws.com",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"GET", "https://example.amazonaws.com:443/",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"GET", "http://example.amazonaws.com:80/",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"GET", "HTTPS://example.amazonaws.com:0443/",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"GET", "http://example.amazonaws.com:/",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"POST", "https://example.amazonaws.com/",
         "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
        {"GET", "https://example.amazonaws.com/example space/",
         "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
        {"GET", "https://example.amazonaws.com/\xe1\x88\xb4",
         "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
        {"GET",
         "https://example.amazonaws.com/"
         "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
         "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct sigv4_request request = suite_request(cases[i].method, cases[i].url);

        assert_authorization(&request, "host;x-amz-date", cases[i].signature);
    }
}

static void a_session_token_is_signed(void **state)
{
    struct sigv4_request request = suite_request("POST", "https://example.amazonaws.com/");

    (void)state;
    request.session_token = SUITE_TOKEN;
    assert_authorization(&request, "host;x-amz-date;x-amz-security-token",
                         "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

/* The signature is that of another implementation, @smithy/signature-v4. */
static void body_path_and_own_headers_are_signed(void **state)
{
    static const struct http_header headers[] = {
        {"Content-Type", "application/json"},
        {"X-Amz-Meta", "  a   b  "},
        {"x-amz-a", "1"},
        {"X-Amzn-Other", "not signed"},
        {NULL, NULL},
    };
    struct sigv4_request request =
        suite_request("POST", "http://127.0.0.1:8080/model/us.anthropic.claude-v2%3A1/converse");

    (void)state;
    request.headers = headers;
    request.body = "{\"a\":\"\xc3\xa4\"}";
    request.body_len = strlen(request.body);
    request.service = "bedrock";
    request.region = "eu-west-1";
    {
        CLEANUP(sigv4_signature_done) struct sigv4_signature made = SIGV4_SIGNATURE_INIT;

        sigv4_sign(&request, &made);
        assert_string_equal(
            made.authorization.text,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/bedrock/aws4_request, "
            "SignedHeaders=host;x-amz-a;x-amz-date;x-amz-meta, "
            "Signature=295816e444a0b28125c01353c4f468aeda637b474338b76d599b621a415a0a45");
    }
}

static void more_headers_than_can_be_signed_are_no_overflow(void **state)
{
    struct http_header headers[SIGV4_HEADERS_MAX * 2 + 1] = {{NULL, NULL}};
    struct sigv4_request request = suite_request("POST", "https://example.amazonaws.com/");
    CLEANUP(sigv4_signature_done) struct sigv4_signature made = SIGV4_SIGNATURE_INIT;

    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_SIZE(headers); i++)
        headers[i] = (struct http_header){"x-amz-b", "1"};
    request.headers = headers;
    sigv4_sign(&request, &made);
    assert_non_null(strstr(made.authorization.text, "x-amz-b;x-amz-b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_the_vendors_suite_are_signed_alike),
        cmocka_unit_test(a_session_token_is_signed),
        cmocka_unit_test(body_path_and_own_headers_are_signed),
        cmocka_unit_test(more_headers_than_can_be_signed_are_no_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
