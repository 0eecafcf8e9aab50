#!/bin/sh
# Runs a command with its own PostgreSQL database, with deft's schema, whose address is in
# DEFT_TEST_DATABASE_URL, and removes it afterwards.
#
#   tests/unit/with-postgres.sh COMMAND...
#   tests/unit/with-postgres.sh --share COMMAND...    the programs that the command runs by this script share
#                                                     a server (DEFT_TEST_SERVER), each with its own database
# The server is a private cluster on a Unix socket in a temporary folder (tests/unit/cluster.sh). A database
# that exists already (DEFT_TEST_DATABASE_URL is set) is used unchanged.
set -eu

is_shared=
if [ "$1" = --share ]; then
	is_shared=yes
	shift
fi
[ -z "${DEFT_TEST_DATABASE_URL:-}" ] || exec "$@"

bin=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
bin=${bin%/initdb}

server_user=
# the server refuses to run as root
[ "$(id -u)" != 0 ] || server_user='setpriv --reuid=postgres --regid=postgres --init-groups --'

clean_up() {
	status=$?
	trap - EXIT INT TERM
	if [ -n "${name:-}" ]; then
		"$bin/psql" -q -h "$DEFT_TEST_SERVER" -U deft -d postgres -c "DROP DATABASE $name WITH (FORCE)" >/dev/null 2>&1 || true
	else
		$server_user "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
		rm -rf "$dir"
	fi
	exit "$status"
}

# A copy of the deployed database, on the running server.
make_database() {
	name=test_$$
	trap clean_up EXIT INT TERM
	"$bin/psql" -q -h "$DEFT_TEST_SERVER" -U deft -d postgres -c "CREATE DATABASE $name TEMPLATE deft"
	DEFT_TEST_DATABASE_URL="host=$DEFT_TEST_SERVER user=deft dbname=$name"
	export DEFT_TEST_DATABASE_URL
}

start_server() {
	dir=$(mktemp -d "${TMPDIR:-/tmp}/deft-pg.XXXXXX")
	trap clean_up EXIT INT TERM
	[ -z "$server_user" ] || chown postgres "$dir"
	chmod 755 "$dir"
	"$(dirname "$0")/cluster.sh" "$dir"
	cat >>"$dir/data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$dir'
		max_connections = 200
		shared_buffers = 32MB
		timezone = 'UTC'
		# the cluster does not outlive the test: nothing need reach a disk
		fsync = off
		full_page_writes = off
	CONF
	(cd "$dir" && $server_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/log" -w start >/dev/null 2>&1) ||
		{ cat "$dir/data/log" >&2; exit 1; }
}

if [ -n "${DEFT_TEST_SERVER:-}" ]; then
	make_database
else
	start_server
	if [ -n "$is_shared" ]; then
		DEFT_TEST_SERVER=$dir
		export DEFT_TEST_SERVER
	else
		DEFT_TEST_DATABASE_URL="host=$dir user=deft dbname=deft"
		export DEFT_TEST_DATABASE_URL
	fi
fi
"$@"
