/*
 * Debian's static libwebsockets is built with TLS, which is unused here: a sandbox is reached on
 * its own network, by plain HTTP. Without these symbols the linker would add 4 MB of OpenSSL.
 *
 * They are weak: where a newer libwebsockets needs further symbols, the linker takes OpenSSL's
 * objects, whose definitions replace these. None is ever called.
 */
#include <stdlib.h>

/* clang-format off */
/* OpenSSL symbols used by libwebsockets 4.1 (Debian 12). */
#define TLS_NAMES_OF_4_1(X) \
    X(BIO_ctrl) X(BIO_free) X(BIO_new) X(BIO_new_socket) X(BIO_s_mem) X(BIO_write) X(CRYPTO_free) \
    X(CRYPTO_get_ex_new_index) X(CRYPTO_malloc) X(EC_KEY_free) X(EC_KEY_new_by_curve_name) \
    X(ERR_clear_error) X(ERR_error_string) X(ERR_error_string_n) X(ERR_get_error) \
    X(EVP_DigestFinal_ex) X(EVP_DigestInit_ex) X(EVP_DigestUpdate) X(EVP_MD_CTX_free) \
    X(EVP_MD_CTX_new) X(EVP_PKEY_get1_EC_KEY) X(EVP_PKEY_get_id) X(EVP_PKEY_type) X(EVP_sha256) \
    X(OBJ_sn2nid) X(OPENSSL_init_ssl) X(OPENSSL_sk_value) X(PEM_read_bio_X509) \
    X(SSL_CIPHER_get_bits) X(SSL_CIPHER_get_name) X(SSL_CIPHER_get_version) \
    X(SSL_CTX_callback_ctrl) X(SSL_CTX_check_private_key) X(SSL_CTX_clear_options) \
    X(SSL_CTX_ctrl) X(SSL_CTX_free) X(SSL_CTX_get0_certificate) X(SSL_CTX_get_cert_store) \
    X(SSL_CTX_get_ex_data) X(SSL_CTX_get_options) X(SSL_CTX_load_verify_dir) \
    X(SSL_CTX_load_verify_file) X(SSL_CTX_new) X(SSL_CTX_set_alpn_select_cb) \
    X(SSL_CTX_set_cert_store) X(SSL_CTX_set_cipher_list) X(SSL_CTX_set_ciphersuites) \
    X(SSL_CTX_set_default_passwd_cb) X(SSL_CTX_set_default_passwd_cb_userdata) \
    X(SSL_CTX_set_default_verify_paths) X(SSL_CTX_set_ex_data) X(SSL_CTX_set_options) \
    X(SSL_CTX_set_session_id_context) X(SSL_CTX_set_verify) X(SSL_CTX_use_PrivateKey_ASN1) \
    X(SSL_CTX_use_PrivateKey_file) X(SSL_CTX_use_certificate_ASN1) \
    X(SSL_CTX_use_certificate_chain_file) X(SSL_accept) X(SSL_check_private_key) X(SSL_connect) \
    X(SSL_ctrl) X(SSL_free) X(SSL_get0_alpn_selected) X(SSL_get0_param) \
    X(SSL_get1_peer_certificate) X(SSL_get_SSL_CTX) X(SSL_get_current_cipher) X(SSL_get_error) \
    X(SSL_get_ex_data) X(SSL_get_ex_data_X509_STORE_CTX_idx) X(SSL_get_fd) X(SSL_get_rbio) \
    X(SSL_get_servername) X(SSL_get_verify_result) X(SSL_get_wbio) X(SSL_new) X(SSL_pending) \
    X(SSL_read) X(SSL_select_next_proto) X(SSL_set_SSL_CTX) X(SSL_set_alpn_protos) X(SSL_set_bio) \
    X(SSL_set_ex_data) X(SSL_set_fd) X(SSL_set_info_callback) X(SSL_set_verify) X(SSL_shutdown) \
    X(SSL_use_PrivateKey_ASN1) X(SSL_use_certificate_ASN1) X(SSL_want) X(SSL_write) \
    X(TLS_client_method) X(TLS_server_method) X(X509_NAME_oneline) \
    X(X509_STORE_CTX_get_current_cert) X(X509_STORE_CTX_get_error) \
    X(X509_STORE_CTX_get_error_depth) X(X509_STORE_CTX_get_ex_data) X(X509_STORE_CTX_set_error) \
    X(X509_STORE_add_cert) X(X509_STORE_free) X(X509_STORE_new) X(X509_VERIFY_PARAM_set1_host) \
    X(X509_VERIFY_PARAM_set1_ip_asc) X(X509_VERIFY_PARAM_set_hostflags) X(X509_check_issued) \
    X(X509_free) X(X509_get_X509_PUBKEY) X(X509_get_issuer_name) X(X509_get_key_usage) \
    X(X509_get_pubkey) X(X509_get_subject_name) X(X509_getm_notAfter) X(X509_getm_notBefore) \
    X(X509_verify_cert_error_string) X(d2i_X509) X(i2d_X509_PUBKEY)
/* Additional ones used by 4.3 (Debian 13). */
#define TLS_NAMES_OF_4_3(X) \
    X(ASN1_get_object) X(AUTHORITY_KEYID_free) X(OPENSSL_sk_num) X(SSL_CTX_load_verify_locations) \
    X(SSL_CTX_sess_set_new_cb) X(SSL_CTX_set_timeout) X(SSL_SESSION_free) \
    X(SSL_SESSION_get_timeout) X(SSL_SESSION_set_time) X(SSL_get_session) X(SSL_session_reused) \
    X(SSL_set_session) X(X509V3_EXT_d2i) X(X509V3_EXT_get) X(X509_EXTENSION_get_data) \
    X(X509_get_ext) X(X509_get_ext_by_NID) X(d2i_SSL_SESSION) X(i2d_SSL_SESSION) X(i2d_X509) \
    X(i2v_GENERAL_NAMES)
/* clang-format on */

#define X(name)                                                                                    \
    void name(void);                                                                               \
    __attribute__((weak)) void name(void)                                                          \
    {                                                                                              \
        abort();                                                                                   \
    }
/* NOLINTBEGIN(readability-identifier-naming): the names are OpenSSL's */
TLS_NAMES_OF_4_1(X)
TLS_NAMES_OF_4_3(X)
/* NOLINTEND(readability-identifier-naming) */
#undef X
