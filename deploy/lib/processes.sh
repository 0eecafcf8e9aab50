# deft's own processes: the environment of each of them.
# shellcheck shell=sh

PROCESSES='fcgi gateway worker runtime resolver'

processes_set() {
    for _name in $PROCESSES; do
        process_set_common "$_name"
        process_set_own "$_name"
    done
}

# Settings of the caller and of deft.env come first, so that what deft itself decides wins.
process_set_common() {
    rm -f "$DEFT_SERVICES/$1/env/"* "$DEFT_SERVICES/$1/keys/"*
    env | sed -n 's/^\(\(DEFT\|LOG\|OH\)_[A-Z0-9_]*\)=.*/\1/p' | while read -r _setting; do
        case $1:$_setting in
        # It needs only its port, its upstream servers and its private names.
        resolver:DEFT_RESOLVER_*) ;;
        resolver:*) continue ;;
        esac
        case $_setting in
        # Settings of trial.sh for the tests, and of the script itself.
        DEFT | DEFT_API_KEY | DEFT_SIGN_IN_LINK | DEFT_*_BINARY | DEFT_SANDBOX_IMAGE | DEFT_DOCKER_SOCKET) continue ;;
        # Keys are given only to the processes that need them.
        DEFT_SECRET_KEY* | DEFT_HASH_KEY* | DEFT_RUNTIME_API_KEY*) continue ;;
        OH_DEFERRED_INIT) [ "$1" != runtime ] || continue ;;
        OH_SECRET_KEY | OH_SANDBOX_MAX_NUM_SANDBOXES | OH_SANDBOX_STARTUP_GRACE_SECONDS) [ "$1" = fcgi ] || continue ;;
        DEFT_RESOLVER_PORT) ;;
        DEFT_RESOLVER_*) [ "$1" = resolver ] || continue ;;
        DEFT_RUNTIME_ADMIN_KEY | DEFT_RUNTIME_ADMIN_PASSWORD | OH_SANDBOX_LIFECYCLE_* | OH_SANDBOX_EGRESS*) [ "$1" = runtime ] || continue ;;
        OH_*) [ "$1" = worker ] || continue ;;
        DEFT_APP | DEFT_BIN | DEFT_BUILD* | DEFT_KEYS | DEFT_LOG | DEFT_SERVICES | DEFT_TRIAL | DEFT_TEST_* | DEFT_KEEP) continue ;;
        esac
        eval "_value=\$$_setting"
        service_set "$1" "$_setting" "$_value"
    done
    service_set "$1" DEFT_INSTANCE "$DEFT_INSTANCE"
    service_set "$1" LOG_LEVEL "$LOG_LEVEL"
    [ "$1" != resolver ] || return 0
    service_set "$1" DEFT_VAR "$DEFT_VAR"
    service_set "$1" DEFT_RUN "$DEFT_RUN"
    service_set "$1" DEFT_MODE "$DEFT_MODE"
    service_set "$1" DEFT_DATABASE_URL "host=$DEFT_RUN/pg user=deft_$1 dbname=deft"
    # The gateway only compares hashes of tokens: it does not decrypt anything.
    if [ "$1" = gateway ]; then
        service_set "$1" DEFT_HASH_KEY "$(process_hash_key)"
    else
        service_set "$1" DEFT_SECRET_KEY "$(secret_read secret_key)"
    fi
    service_set "$1" DEFT_APP_URL "$DEFT_APP_URL"
    service_set "$1" DEFT_AGENT_URL "$DEFT_AGENT_URL"
}

# The key of the hashes of tokens, derived from the root key.
process_hash_key() {
    DEFT_SECRET_KEY_FILE=$DEFT_KEYS/secret_key DEFT_DATABASE_URL=$DEFT_DATABASE_URL DEFT_FCGI_SOCKET=none "$DEFT_APP/bin/deft-fcgi" --hash-key
}

process_set_own() {
    case $1 in
    fcgi)
        service_set "$1" DEFT_FCGI_SOCKET "$DEFT_RUN/fcgi/fcgi.sock"
        service_set "$1" DEFT_FCGI_SANDBOX_SOCKET "$DEFT_RUN/fcgi/sandbox.sock"
        service_set "$1" DEFT_FCGI_STREAM_SOCKET "$DEFT_RUN/fcgi/stream.sock"
        service_set "$1" DEFT_FCGI_PROBE_SOCKET "$DEFT_RUN/fcgi/probe.sock"
        service_set "$1" DEFT_CORS_ORIGINS "$DEFT_CORS_ORIGINS"
        # Instances on one host differ in the port only, and browsers share cookies between ports.
        service_set "$1" DEFT_SESSION_COOKIE "deft_session_$DEFT_APP_PORT"
        service_set "$1" DEFT_MODELS_FILE "${DEFT_MODELS_FILE:-$DEFT_APP/share/deft/models.json}"
        process_set_runtime_client "$1"
        process_set_model "$1"
        process_set_catalogue "$1"
        ;;
    gateway)
        service_set "$1" DEFT_GATEWAY_SOCKET "$DEFT_RUN/gateway/gateway.sock"
        service_set "$1" DEFT_GATEWAY_PREVIEW_SOCKET "$DEFT_RUN/gateway/preview.sock"
        process_set_runtime_client "$1"
        process_set_catalogue "$1"
        ;;
    worker)
        process_set_runtime_client "$1"
        process_set_model "$1"
        process_set_catalogue "$1"
        ;;
    runtime)
        service_set "$1" DEFT_RUNTIME_LISTEN "$DEFT_RUN/runtime/runtime.sock"
        service_set "$1" DEFT_RUNTIME_API_KEY "$(secret_read runtime_api_key)"
        service_set "$1" DEFT_DOCKER_SOCKET "$DEFT_DOCKER_SOCKET"
        service_set "$1" DEFT_RUNTIME "$DEFT_RUNTIME"
        has_engine || process_set_tree "$1"
        service_set "$1" DEFT_SANDBOX_IMAGE "$DEFT_SANDBOX_IMAGE"
        service_set "$1" DEFT_ACTION_BINARY "$DEFT_APP/bin/deft-action"
        service_set "$1" DEFT_SANDBOX_SECCOMP "${DEFT_SANDBOX_SECCOMP-$DEFT_APP/share/deft/seccomp.json}"
        ;;
    esac
}

process_set_tree() {
    service_set "$1" DEFT_PROCESS_DIR "$DEFT_VAR/sandboxes"
    service_set "$1" DEFT_PROCESS_ROOT "$(tree_path)"
}

process_set_runtime_client() {
    service_set "$1" DEFT_RUNTIME_URL http://localhost
    service_set "$1" DEFT_RUNTIME_SOCKET "$DEFT_RUN/private/runtime-http.sock"
    service_set "$1" DEFT_RUNTIME_API_KEY "$(secret_read runtime_api_key)"
    service_set "$1" DEFT_CONVERSATION_RUNTIME "$DEFT_CONVERSATION_RUNTIME"
    service_set "$1" DEFT_SANDBOX_IMAGE "$DEFT_SANDBOX_IMAGE"
}

process_set_catalogue() {
    service_set "$1" DEFT_CATALOGUE_DIR "${DEFT_CATALOGUE_DIR:-$DEFT_APP/share/deft/catalogue}"
}

process_set_model() {
    service_set "$1" DEFT_SCRIPTED_DIR "$DEFT_APP/share/deft/scripted"
    for _setting in LLM_MODEL LLM_API_KEY LLM_BASE_URL; do
        [ ! -f "$DEFT_KEYS/$_setting" ] || service_set "$1" "$_setting" "$(secret_read "$_setting")"
    done
}
