#!/bin/sh
# Runs a command with a PostgreSQL of its own: a private cluster on a Unix socket in a temporary
# folder, deft's schema in it, its address in DEFT_TEST_DATABASE_URL. Removes all of it afterwards.
#
#   tests/unit/with-postgres.sh COMMAND...
# One that is there already (DEFT_TEST_DATABASE_URL is set) is used as it is.
set -eu

[ -z "${DEFT_TEST_DATABASE_URL:-}" ] || exec "$@"

sql=$(cd "$(dirname "$0")/../../sql" && pwd)
bin=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
bin=${bin%/initdb}
if [ -z "$bin" ]; then
	echo "with-postgres: no PostgreSQL server found: apt-get install postgresql" >&2
	exit 1
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/deft-pg.XXXXXX")
as=
if [ "$(id -u)" = 0 ]; then
	# the server refuses to run as root
	as='setpriv --reuid=postgres --regid=postgres --init-groups --'
	chown postgres "$dir"
	chmod 755 "$dir"
fi
stop() {
	status=$?
	trap - EXIT INT TERM
	$as "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
	rm -rf "$dir"
	exit $status
}
trap stop EXIT INT TERM

cd "$dir"
$as "$bin/initdb" -D "$dir/data" -U deft -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$dir/initdb.log" 2>&1 ||
	{ cat "$dir/initdb.log" >&2; exit 1; }
cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$dir'
max_connections = 60
shared_buffers = 32MB
timezone = 'UTC'
# the cluster does not outlive the test: nothing need reach a disk
fsync = off
full_page_writes = off
CONF
$as "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/log" -w start >/dev/null 2>&1 ||
	{ cat "$dir/data/log" >&2; exit 1; }
"$bin/psql" -q -h "$dir" -U deft -d postgres -c 'CREATE DATABASE deft'
(cd "$sql" && TZ=UTC sqitch deploy "db:pg://deft@/deft?host=$dir") >"$dir/sqitch.log" 2>&1 ||
	{ cat "$dir/sqitch.log" >&2; exit 1; }

cd - >/dev/null
DEFT_TEST_DATABASE_URL="host=$dir user=deft dbname=deft"
export DEFT_TEST_DATABASE_URL
"$@"
