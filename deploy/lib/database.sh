# The instance's own PostgreSQL cluster in DEFT_VAR/pg, and deft's schema in it.
# shellcheck shell=sh

# The programs of the version that created the cluster; for a new cluster those of the newest one.
database_find_programs() {
    _version=$(cat "$DEFT_VAR/pg/data/PG_VERSION" 2>/dev/null || :)
    if [ -n "$_version" ]; then
        POSTGRES_BIN=/usr/lib/postgresql/$_version/bin
        [ -x "$POSTGRES_BIN/postgres" ] || {
            echo "$DEFT_VAR/pg/data was created by PostgreSQL $_version, which is not installed."
            echo "Install postgresql-$_version, or migrate the data (deploy/README.md)."
            return 1
        }
        return
    fi
    POSTGRES_BIN=''
    for _folder in /usr/lib/postgresql/*/bin; do
        [ ! -x "$_folder/initdb" ] || POSTGRES_BIN=$_folder
    done
    [ -n "$POSTGRES_BIN" ] || {
        echo "There is no initdb in /usr/lib/postgresql/*/bin: the package postgresql is missing."
        return 1
    }
}

# A step of `up`: cluster, server, role, database, schema.
database_prepare() {
    database_find_programs
    _made=''
    if [ ! -f "$DEFT_VAR/pg/data/PG_VERSION" ]; then
        remark "creating the cluster"
        database_make_cluster
        _made=yes
    fi
    render "$DEFT_HOME/deploy/postgresql.conf" >"$DEFT_VAR/pg/deft.conf"
    cp "$DEFT_HOME/deploy/pg_hba.conf" "$DEFT_HOME/deploy/pg_ident.conf" "$DEFT_VAR/pg/"
    rm -f "$DEFT_SERVICES/postgres/env/"*
    services_write
    services_watch
    service_watched postgres
    _hash=$(cat "$DEFT_VAR/pg/"*.conf "$DEFT_SERVICES/postgres/run" | sha256sum | cut -d' ' -f1)
    database_start
    database_deploy "${_made:+cluster made, }"
}

# Its owner's role is deft; who may connect as which role is in ../pg_hba.conf and ../pg_ident.conf.
database_make_cluster() {
    install -d -m 700 -o deft-postgres -g deft-postgres "$DEFT_VAR/pg"
    rm -rf "$DEFT_VAR/pg/new"
    (cd / && as_user deft-postgres "$POSTGRES_BIN/initdb" --pgdata="$DEFT_VAR/pg/new" --username=deft --auth=peer \
        --encoding=UTF8 --locale=C.UTF-8 --data-checksums --no-instructions)
    echo "include '$DEFT_VAR/pg/deft.conf'" >>"$DEFT_VAR/pg/new/postgresql.conf"
    mv "$DEFT_VAR/pg/new" "$DEFT_VAR/pg/data"
}

# The server is started by deft-launch, which another step of `up` builds.
database_await_launcher() {
    wait_until 1800 launcher_is_there_or_never || :
    [ -x "$DEFT_APP/bin/deft-launch" ] || {
        echo "PostgreSQL cannot start: deft-launch was not built."
        return 1
    }
}

launcher_is_there_or_never() {
    [ -x "$DEFT_APP/bin/deft-launch" ] || [ -f "$DEFT_LOG/up/build.done" ]
}

database_start() {
    database_await_launcher
    if ! service_is_up postgres; then
        sv -w 20 up "$DEFT_SERVICES/postgres"
    elif ! stamp_is database-settings "$_hash"; then
        sv -w 60 force-restart "$DEFT_SERVICES/postgres"
    fi
    rm -f "$DEFT_SERVICES/postgres/down"
    stamp_set database-settings "$_hash"
    wait_until 60 database_ask postgres 'SELECT 1' || {
        tail -n 15 "$DEFT_LOG/postgres/current"
        return 1
    }
}

# database_ask DATABASE STATEMENT
database_ask() {
    "${POSTGRES_BIN:-/usr/bin}/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$DEFT_RUN/pg" -U deft -d "$1" -c "$2"
}

# The stamp is next to the data, so that it moves with them.
database_deploy() {
    _hash=$(sources_hash '^sql/')
    if [ "$(cat "$DEFT_VAR/pg/deployed" 2>/dev/null)" = "$_hash" ]; then
        remark "$1$(database_version), schema up to date"
        return
    fi
    remark "$1deploying the schema"
    [ "$(database_ask postgres "SELECT count(*) FROM pg_database WHERE datname = 'deft'")" = 1 ] ||
        database_ask postgres 'CREATE DATABASE deft'
    database_migrate deft
    printf '%s\n' "$_hash" >"$DEFT_VAR/pg/deployed"
    remark "$1$(database_version), schema deployed"
}

# database_migrate DATABASE
database_migrate() {
    (
        cd "$DEFT_BUILD/src/sql"
        PGHOST=$DEFT_RUN/pg PGUSER=deft SQITCH_FULLNAME=deft SQITCH_EMAIL=deft@localhost \
            as_user deft-postgres sh migrate.sh "db:pg:$1"
    )
}

database_version() {
    "$POSTGRES_BIN/postgres" --version | sed 's/^postgres (PostgreSQL) \([0-9.]*\).*/PostgreSQL \1/'
}
