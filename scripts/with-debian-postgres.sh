#!/usr/bin/env bash
# Runs a command with TOCK_TEST_DATABASE_URL set to a fresh cluster of Debian's PostgreSQL 15, and removes the cluster.
#
#   scripts/with-debian-postgres.sh npx vitest run test/store
set -euo pipefail
bin=${PG_BIN:-/usr/lib/postgresql/15/bin}
# In memory where there is room, as test/support/temporary-folder.ts has it: copying databases is then five times as fast.
base=${TMPDIR:-/tmp}
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)" -ge 4194304 ] 2>/dev/null; then base=/dev/shm; fi
folder=$(mktemp -d -p "$base")
chmod 711 "$folder"
as() { "$@"; }
if [ "$(id -u)" = 0 ]; then
  as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
  chown postgres "$folder"
fi
trap 'cd /; as "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
printf 'secret' >"$folder/password"
chmod 644 "$folder/password"
(cd / && as "$bin/initdb" -D "$folder/data" -U postgres -A scram-sha-256 --pwfile="$folder/password" -E UTF8 --locale=C.UTF-8 >/dev/null)
# Last, so that no other program takes it meanwhile.
port=$(node -e 'const s=require("node:net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
(cd / && as "$bin/pg_ctl" -D "$folder/data" -w -l "$folder/data/log" start \
  -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c jit=off -c max_connections=300" >/dev/null)
TOCK_TEST_DATABASE_URL="postgres://postgres:secret@127.0.0.1:$port/postgres" "$@"
