/*
 * Parsers of deft-runtime: Dockerfiles and contexts of builds, DNS queries, denied packets, image
 * names, the engine's frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "runtime/build/build_context.h"
#include "runtime/build/build_form.h"
#include "runtime/build/dockerfile.h"
#include "runtime/build/image_source.h"
#include "runtime/docker/log_demux.h"
#include "runtime/docker/tar.h"
#include "runtime/egress/denial_counter.h"
#include "runtime/egress/dns_message.h"
#include "runtime/egress/egress_policy.h"
#include "runtime/egress/nflog_parse.h"
#include "unit/linear/linear.h"

static void run_dockerfile(const char *text, size_t len)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    struct error err = ERROR_INIT;

    if (dockerfile_list_images(text, len, &images, &err) < 0)
        assert_int_equal(err.code, ERROR_INVALID);
}

static const char *const dockerfiles[] = {"|FROM a\n|",
                                          "FROM |a |",
                                          "|RUN a \\\n|",
                                          "|#\n|",
                                          "RUN a \\\n|#\n|",
                                          "|# syntax=a\n|",
                                          "|ARG A=a\n|",
                                          "ARG |A=a |",
                                          "ARG A=\nFROM |$A|",
                                          "ARG A=\nFROM |${A:-}|",
                                          "FROM |${A:-|",
                                          "COPY |--from=a |",
                                          "RUN --mount=|from=a,|",
                                          "RUN --mount=|from=|",
                                          "ADD |a |",
                                          "ADD [|\"a\",|\"b\"]",
                                          "ADD |[|",
                                          "|ONBUILD |RUN a",
                                          "|ADD \\\n|",
                                          "|\xc2\xa0|",
                                          "ADD |--a |",
                                          NULL};

/* Arguments that mean each other, each as often as the text is long: nothing, many times over. */
static void run_arguments(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;
    static const char *const names[] = {"$A", "$B", "$C"};
    size_t n = len / 100;

    (void)text;
    strbuf_append(&file, "ARG A=\nARG B=");
    for (size_t i = 0; i < n; i++)
        strbuf_append(&file, names[0]);
    strbuf_append(&file, "\nARG C=");
    for (size_t i = 0; i < n; i++)
        strbuf_append(&file, names[1]);
    strbuf_append(&file, "\nFROM $C\n");
    run_dockerfile(file.text, file.len);
}

static const char *const one_text[] = {"|a|", NULL};

static void gzip(const struct strbuf *plain, struct strbuf *out)
{
    z_stream stream = {.next_in = (unsigned char *)plain->text, .avail_in = (unsigned)plain->len};

    strbuf_reserve(out, plain->len / 2 + 1000);
    assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_out = (unsigned char *)out->text;
    stream.avail_out = (unsigned)(out->size - 1);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out->len = stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
}

static void read_context(const struct strbuf *archive)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    CLEANUP(strbuf_done) struct strbuf packed = STRBUF_INIT;
    struct error err = ERROR_INIT;

    gzip(archive, &packed);
    if (build_context_list_images(&packed, INT64_C(1) << 30, &images, &err) < 0)
        assert_int_equal(err.code, ERROR_INVALID);
}

static void run_tar(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;

    strbuf_append_bytes(&archive, text, len);
    read_context(&archive);
}

/* Many files, each in a folder of its own; the text is the Dockerfile. */
static void run_context(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;

    tar_append_file(&archive, &(struct tar_entry){.name = "Dockerfile", .mode = 0644}, text, len);
    for (size_t i = 0; i < len / 500; i++) {
        char name[64] = "";

        (void)snprintf(name, sizeof(name), "a/b/c/%zu/d/e/f/g", i);
        tar_append_file(&archive, &(struct tar_entry){.name = name, .mode = 0644}, "a", 1);
    }
    tar_append_end(&archive);
    read_context(&archive);
}

static void run_form(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(build_form_done) struct build_form form = BUILD_FORM_INIT;
    struct error err = ERROR_INIT;

    strbuf_append_bytes(&body, text, len);
    if (build_form_read("multipart/form-data; boundary=b", &body, &form, &err) < 0)
        assert_int_equal(err.code, ERROR_INVALID);
}

static const char *const forms[] = {"|--b\r\n; name=\"a\"\r\n\r\na\r\n|--b--",
                                    "|--b\r\n|",
                                    "--b|\r\n--|",
                                    "--b\r\n|; name=|\r\n\r\n\r\n--b--",
                                    "--b\r\n; name=\"context\"\r\n\r\n|YWFh|\r\n--b--",
                                    "|\r\n\r\n|",
                                    NULL};

/* Packets of the longest kind, as many as the text fills. */
static void run_dns(const char *text, size_t len)
{
    static const char head[] = "\x12\x34\x01\0\0\x01\0\0\0\0\0";

    for (size_t at = 0; at + DNS_PACKET_BYTES <= len; at += DNS_PACKET_BYTES) {
        unsigned char answer[DNS_PACKET_BYTES];
        char packet[DNS_PACKET_BYTES];
        struct dns_query question = {0};

        memcpy(packet, text + at, sizeof(packet));
        memcpy(packet, head, sizeof(head));
        if (dns_query_parse(packet, sizeof(packet), &question))
            assert_true(dns_reply_write(packet, &question, DNS_UNKNOWN, NULL, 0, answer) > 0);
    }
}

static void count_packet(void *context, const struct denied_packet *packet)
{
    (void)packet;
    *(size_t *)context += 1;
}

static void run_nflog(const char *text, size_t len)
{
    size_t n = 0;

    nflog_parse(text, len, count_packet, &n);
    assert_true(n <= len);
}

static const char *const labels[] = {"|\x01|", "|\x01.|", "|\x3f|", "|a|", "|\xc0|", NULL};

static void run_image(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf registry = STRBUF_INIT;

    (void)len;
    image_source_append(text, &registry);
    (void)!image_source_is_listed(IMAGE_SOURCE_DEFAULT, text);
    (void)!image_source_is_listed(text, "docker.io/a");
}

static const char *const images[] = {"|a|/b", "|a/|", "|.|/b", "|a,|", "|:|", "|@|/", NULL};

static void run_frames(const char *text, size_t len)
{
    struct log_demux demux = LOG_DEMUX_INIT;

    log_demux_feed(&demux, text, len);
    for (size_t i = 0; i < len; i++)
        log_demux_feed(&demux, text + i, 1);
    log_demux_done(&demux);
}

static void run_lists(const char *text, size_t len)
{
    struct egress_policy policy = EGRESS_POLICY_INIT;
    struct error err = ERROR_INIT;
    char name[EGRESS_NAME_BYTES] = "";

    if (egress_policy_parse("list", text, &policy, &err) == 0)
        (void)!egress_policy_holds(&policy, "a.b");
    egress_policy_done(&policy);
    (void)!egress_name_read(text, len, name);
}

static const char *const lists[] = {
    "|a.b |", "|a,|", "|*.a |", "|10.0.0.0/8:1 |", "|nameserver 1.1.1.1\n|", "|a.|", NULL};

static void time_is_linear_in_what_the_runtime_reads(void **state)
{
    /* Larger Dockerfiles are refused. */
    static const struct linear_function functions[] = {
        {"dockerfile_list_images", run_dockerfile, dockerfiles, LINEAR_FEW_BYTES, 0},
        {"dockerfile_list_images", run_dockerfile, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"dockerfile_list_images, arguments", run_arguments, one_text, LINEAR_FEW_BYTES, 0},
        {"build_context_list_images", run_context, dockerfiles, LINEAR_FEW_BYTES, 0},
        {"build_context_list_images", run_tar, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"build_form_read", run_form, forms, 0, 0},
        {"build_form_read", run_form, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"dns_read", run_dns, labels, LINEAR_FEW_BYTES, 0},
        {"nflog_parse", run_nflog, labels, LINEAR_FEW_BYTES, 0},
        {"nflog_parse", run_nflog, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"image_source_append", run_image, images, LINEAR_FEW_BYTES, 0},
        {"image_source_append", run_image, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"egress_policy_parse", run_lists, lists, LINEAR_FEW_BYTES, 0},
        {"egress_policy_parse", run_lists, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"frames_feed", run_frames, linear_any_text, LINEAR_FEW_BYTES, 0},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_what_the_runtime_reads),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_runtime", tests, NULL, NULL);
}
