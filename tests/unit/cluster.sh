#!/bin/sh
# Makes a stopped PostgreSQL cluster with deft's schema: role deft, who needs no password, and database deft.
#
#   tests/unit/cluster.sh FOLDER      the cluster is FOLDER/data; FOLDER exists and belongs to the server's user
#
# With DEFT_TEST_CLUSTERS (a folder) it is a copy of one that is kept there, under the hash of sql/ and the
# server's version; the first call of a hash makes it.
set -eu

folder=$1
sql=$(cd "$(dirname "$0")/../../sql" && pwd)
bin=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
bin=${bin%/initdb}
if [ -z "$bin" ]; then
	echo "cluster: no PostgreSQL server found: apt-get install postgresql" >&2
	exit 1
fi
as=
# the server refuses to run as root
[ "$(id -u)" != 0 ] || as='setpriv --reuid=postgres --regid=postgres --init-groups --'

fail() {
	cat "$1" >&2
	exit 1
}

# make FOLDER: the cluster in FOLDER/data, its server stopped.
make_cluster() (
	cd "$1"
	$as "$bin/initdb" -D "$1/data" -U deft -A trust -E UTF8 --locale=C.UTF-8 --no-sync >initdb.log 2>&1 || fail initdb.log
	$as "$bin/pg_ctl" -D "$1/data" -l "$1/server.log" -w \
		-o "-c listen_addresses='' -c unix_socket_directories='$1' -c fsync=off" start >/dev/null 2>&1 || fail server.log
	"$bin/psql" -q -h "$1" -U deft -d postgres -c 'CREATE DATABASE deft'
	status=0
	(cd "$sql" && TZ=UTC sqitch deploy "db:pg://deft@/deft?host=$1") >sqitch.log 2>&1 || status=$?
	$as "$bin/pg_ctl" -D "$1/data" -m fast -w stop >/dev/null
	[ $status -eq 0 ] || fail sqitch.log
)

if [ -z "${DEFT_TEST_CLUSTERS:-}" ]; then
	make_cluster "$folder"
	exit
fi
hash=$( (echo "$bin" && cd "$sql" && find . -type f -exec sha256sum {} + | LC_ALL=C sort) | sha256sum | cut -c1-16)
mkdir -p "$DEFT_TEST_CLUSTERS"
exec 8>"$DEFT_TEST_CLUSTERS/lock"
flock 8
if [ ! -d "$DEFT_TEST_CLUSTERS/$hash" ]; then
	find "$DEFT_TEST_CLUSTERS" -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
	# a socket's path is short
	new=$(mktemp -d /tmp/deft-cluster.XXXXXX)
	trap 'rm -rf "$new"' EXIT
	trap 'exit 1' INT TERM
	[ -z "$as" ] || chown postgres "$new"
	chmod 755 "$new"
	make_cluster "$new" 8>&-
	cp -a "$new/data" "$DEFT_TEST_CLUSTERS/$hash"
fi
cp -a "$DEFT_TEST_CLUSTERS/$hash" "$folder/data"
