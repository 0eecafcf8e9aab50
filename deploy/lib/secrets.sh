# Secrets: generated once, stored in files readable by root only, passed to the processes in environment
# folders (chpst -e), never on a command line.
# shellcheck shell=sh

secrets_make() {
    secret_make secret_key
    secret_make runtime_api_key
    # The caller's settings of the language model are stored; an empty value removes one.
    for _name in LLM_MODEL LLM_API_KEY LLM_BASE_URL; do
        eval "_known=\${$_name+yes} _value=\${$_name-}"
        [ -n "$_known" ] || continue
        if [ -n "$_value" ]; then
            secret_write "$_name" "$_value"
        else
            rm -f "$DEFT_KEYS/$_name"
        fi
    done
}

# 32 bytes as 64 hex digits.
secret_make() {
    [ -s "$DEFT_KEYS/$1" ] || secret_write "$1" "$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')"
}

secret_write() {
    (
        umask 077
        printf '%s\n' "$2" >"$DEFT_KEYS/$1.new"
        mv "$DEFT_KEYS/$1.new" "$DEFT_KEYS/$1"
    )
}

secret_read() {
    [ ! -f "$DEFT_KEYS/$1" ] || cat "$DEFT_KEYS/$1"
}
