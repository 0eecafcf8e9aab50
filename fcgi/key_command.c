#include "fcgi/key_command.h"

#include <stdio.h>

#include "auth/credential.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "store/user/user_store.h"

static int check_name(const char *option, const char *name, struct error *err)
{
    return text_is_blank(name) ? error_set(err, ERROR_INVALID, "%s needs a name", option) : 0;
}

static int print(FILE *out, const char *text, struct error *err)
{
    return fputs(text, out) < 0 ? error_set(err, ERROR_UNAVAILABLE, "cannot print") : 0;
}

static int print_line(struct strbuf *line, struct error *err)
{
    strbuf_append(line, "\n");
    return print(stdout, line->text, err);
}

int key_command_new(const struct fcgi_context *context, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;

    if (check_name("--new-key", name, err) < 0 ||
        credential_new_key(context->db, &context->keyring, name, &key, err) < 0)
        return -1;
    return print_line(&key, err);
}

int key_command_new_runtime(const struct fcgi_context *context, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;

    if (check_name("--new-runtime-key", name, err) < 0 ||
        credential_new_runtime_key(context->db, &context->keyring, name, &key, err) < 0)
        return -1;
    return print_line(&key, err);
}

static bool is_valid(const struct api_key *key)
{
    return key->revoked_at[0] == '\0';
}

static void append_key(const struct api_key *key, struct strbuf *out)
{
    strbuf_appendf(out, "%.*s  %s  %-7s %-16s  %-7s  %s\n", CREDENTIAL_KEY_ID_CHARS, key->id.text,
                   key->made_at, is_valid(key) ? "valid" : "revoked", key->revoked_at, key->serves,
                   key->name);
}

int key_command_list(const struct fcgi_context *context, struct error *err)
{
    CLEANUP(api_key_list_done) struct api_key_list list = API_KEY_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (credential_list_keys(context->db, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++)
        append_key(&list.items[i], &text);
    if (list.n == 0)
        strbuf_append(&text, "There are no keys yet: ./deft key NAME makes one.\n");
    return print(stdout, text.text, err);
}

static int refuse_several(const struct api_key_list *list, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < list->n; i++) {
        if (is_valid(&list->items[i]) && text_equal(list->items[i].name, name))
            append_key(&list->items[i], &text);
    }
    if (print(stderr, text.text, err) < 0)
        return -1;
    return error_set(err, ERROR_CONFLICT,
                     "several keys are named '%s': revoke one of these by its id", name);
}

int key_command_revoke(const struct fcgi_context *context, const char *id_or_name,
                       struct error *err)
{
    CLEANUP(api_key_list_done) struct api_key_list list = API_KEY_LIST_INIT;
    const struct api_key *key = NULL;

    if (credential_list_keys(context->db, &list, err) < 0)
        return -1;
    switch (credential_pick_key(&list, id_or_name, &key)) {
    case 0:
        return error_set(
            err, ERROR_NOT_FOUND,
            "there is no valid key with the id or name '%s'; ./deft key --list shows all keys",
            id_or_name);
    case 1:
        return credential_revoke_key(context->db, &key->id, err);
    default:
        return refuse_several(&list, id_or_name, err);
    }
}

int key_command_link(const struct fcgi_context *context, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;

    if (credential_new_link(context->db, &context->keyring, &token, err) < 0)
        return -1;
    strbuf_appendf(&link, "%s/sign-in#%s", context->settings->app_url, token.text);
    return print_line(&link, err);
}

int key_command_hash_key(const struct fcgi_context *context, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    char hex[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_key(&context->keyring, hex);
    strbuf_append(&line, hex);
    return print_line(&line, err);
}
