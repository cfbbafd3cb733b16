#!/usr/bin/env bash
# Tries crontab.example under the real cron daemon, and tells by its exit code whether it works.
#
#   scripts/try-cron.sh [user …]
#
# Each user (default: the one who calls; as root also `nobody`, if that user can read this folder) gets a
# crontab made from crontab.example, with its placeholders filled in and nothing else changed. Then the script
# waits for the next minute, at most 150 s, until cron's tick has executed a scheduled run of check-scheduler.
#
# The database is a new embedded server, one database per user. With DATABASE_URL it is that one, for one user;
# it is migrated, and keeps the runs that were made. Needs Debian's package `cron`, and root where the cron
# daemon does not run yet. At the end, whatever happens: crontabs are as they were, and what was started is stopped.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
limit_s=150
me=$(id -un)
node=$(command -v node) || { echo 'try-cron: node is not in PATH' >&2; exit 2; }
# The real program: what is in PATH may be a link into a folder that others cannot enter.
node=$(readlink -f "$node")

say() { printf '%s\n' "$*"; }
fail() { printf 'try-cron: %s\n' "$*" >&2; exit 1; }

command -v crontab > /dev/null || fail 'crontab is not installed (Debian: apt-get install -y cron)'
cd "$root"

# -- What is undone at the end ------------------------------------------------------------------------
work=$(mktemp -d /tmp/tock-try-cron.XXXXXX)
chmod 0711 "$work"
installed=()
server_pid=''
cron_pid=''
undo() {
  local code=$?
  trap - EXIT INT TERM HUP
  set +e
  for user in "${installed[@]}"; do
    if [ -s "$work/$user/before" ]; then table "$user" "$work/$user/before"; else table "$user" -r; fi
  done
  if [ -n "$cron_pid" ]; then kill "$cron_pid"; wait "$cron_pid"; fi 2> /dev/null
  # After cron, so that no tick starts the wait for a database that is gone.
  if [ -n "$server_pid" ]; then kill "$server_pid"; wait "$server_pid"; fi 2> /dev/null
  rm -rf "$work"
  say "restored the crontabs, stopped what was started (exit $code)"
  exit "$code"
}
trap undo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# `crontab` for a user; only root may name another one.
table() {
  local user=$1
  shift
  if [ "$user" = "$me" ]; then crontab "$@"; else crontab -u "$user" "$@"; fi
}

as_user() {
  local user=$1
  shift
  if [ "$user" = "$me" ]; then "$@"; else runuser -u "$user" -- "$@"; fi
}

# -- Build --------------------------------------------------------------------------------------------
"$node" scripts/build.mjs --quiet

# -- Users --------------------------------------------------------------------------------------------
users=("$@")
can_read() {
  as_user "$1" sh -c 'cd "$1" && test -r dist/tick.js && test -x "$2" && test -r migrations' sh "$root" "$node"
}
if [ ${#users[@]} -eq 0 ]; then
  users=("$me")
  if [ "$(id -u)" = 0 ] && [ -z "${DATABASE_URL:-}" ]; then
    if can_read nobody 2> /dev/null; then users+=(nobody); else say 'not tried as nobody: that user cannot read this folder'; fi
  fi
fi
if [ -n "${DATABASE_URL:-}" ] && [ ${#users[@]} -gt 1 ]; then fail 'with DATABASE_URL only one user can be tried'; fi
for user in "${users[@]}"; do
  id -u "$user" > /dev/null 2>&1 || fail "there is no user $user"
  can_read "$user" || fail "$user cannot read $root/dist, or run $node"
done

# -- Database -----------------------------------------------------------------------------------------
if [ -z "${DATABASE_URL:-}" ]; then
  node_modules/.bin/esbuild src/embedded/embedded-server.ts --bundle --platform=node --format=esm \
    --target=node20 --outfile="$work/server.mjs" --log-level=warning \
    --banner:js="import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"
  cat > "$work/hold.mjs" << 'HOLD'
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { startEmbeddedServer } from './server.mjs';

// One use of the server for each database, all let go of at SIGTERM.
const [work, ...users] = process.argv.slice(2);
const uses = [];
// Ctrl-C reaches this process too, but it is the script that decides when to let go.
for (const name of ['SIGINT', 'SIGHUP']) process.on(name, () => undefined);
process.on('SIGTERM', async () => {
  for (const use of uses) await use.stop();
  process.exit(0);
});
for (const user of users) {
  const use = await startEmbeddedServer({
    folder: path.join(work, 'server'),
    database: `try_cron_${user}`,
    settings: { fsync: 'off' },
    // The socket is for root alone, and other users tick here.
    listens: true,
  });
  uses.push(use);
  writeFileSync(path.join(work, `${user}.url`), `${use.connectionString}\n`, { mode: 0o600 });
}
writeFileSync(path.join(work, 'ready'), '');
setInterval(() => {}, 60_000);
HOLD
  say 'starting an embedded PostgreSQL'
  "$node" "$work/hold.mjs" "$work" "${users[@]}" &
  server_pid=$!
  for _ in $(seq 900); do
    [ -e "$work/ready" ] && break
    kill -0 "$server_pid" 2> /dev/null || fail 'the embedded server did not start'
    sleep 0.2
  done
  [ -e "$work/ready" ] || fail 'the embedded server did not start within 180 s'
fi

# Fills in the placeholders of crontab.example: the folder, node's folder, the address's file, the logs' folder.
quoted_root="'${root//"'"/"'\\''"}'"
make_crontab() {
  local home=$1 text
  text=$(cat crontab.example)
  text=${text//'/srv/app'/"${quoted_root//'%'/'\%'}"}
  text=${text/'PATH=/usr/local/bin'/"PATH=$(dirname "$node"):/usr/local/bin"}
  text=${text//'/etc/tock/database-url'/"$home/database-url"}
  text=${text//'/var/log/tock'/"$home"}
  printf '%s\n' "$text"
}

# `crontab -n` checks a file in Debian's cron, `crontab -T` in others.
check_crontab() {
  if crontab -n "$1" 2> "$work/check"; then return; fi
  if grep -q 'invalid option' "$work/check" && crontab -T "$1" 2> "$work/check"; then return; fi
  cat "$work/check" >&2
  fail "cron refuses $1"
}

for user in "${users[@]}"; do
  home=$work/$user
  mkdir -m 0700 "$home"
  (umask 077; if [ -n "${DATABASE_URL:-}" ]; then printf '%s\n' "$DATABASE_URL"; else cat "$work/$user.url"; fi > "$home/database-url")
  make_crontab "$home" > "$home/crontab"
  check_crontab "$home/crontab"
  [ "$user" = "$me" ] || chown -R "$user" "$home"
  # Migrates, and makes the definitions known: a definition's first occurrence is the first one after that.
  env -u DATABASE_URL DATABASE_URL_FILE="$home/database-url" "$node" dist/tick.js --migrate | sed "s/^/  $user, by hand: /"
done

# -- Cron ---------------------------------------------------------------------------------------------
cron_runs() {
  local pid
  for file in /run/crond.pid /var/run/crond.pid; do
    [ -r "$file" ] || continue
    pid=$(tr -cd 0-9 < "$file")
    [ -n "$pid" ] && grep -q '^cron' "/proc/$pid/comm" 2> /dev/null && return 0
  done
  return 1
}
for user in "${users[@]}"; do
  table "$user" -l > "$work/$user/before" 2> /dev/null || true
  installed+=("$user")
  table "$user" "$work/$user/crontab"
done
say "installed crontab.example for ${users[*]}; the line is"
grep -v -e '^#' -e '^$' -e '^[A-Z_]*=' "$work/${users[0]}/crontab" | sed 's/^/  /'
if cron_runs; then
  say 'the cron daemon runs already'
else
  [ "$(id -u)" = 0 ] || fail 'no cron daemon runs, and only root can start one'
  command -v cron > /dev/null || fail 'cron is not installed (Debian: apt-get install -y cron)'
  cron -f &
  cron_pid=$!
  say 'started the cron daemon'
fi

# -- Wait for the minute ------------------------------------------------------------------------------
# The run that cron's tick executed, or nothing.
scheduled_run() {
  env -u DATABASE_URL DATABASE_URL_FILE="$work/$1/database-url" \
    "$node" dist/cli.js runs --json --job check-scheduler --status succeeded --limit 10 > "$work/runs.json"
  "$node" -e '
    const { runs } = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"));
    const run = runs.find(run => run.trigger === "cron" && Date.parse(run.createdAt) >= Number(process.argv[2]));
    if (run) console.log(`run ${run.id} of ${run.job}, scheduled for ${run.scheduledFor}, ${run.status} at ${run.finishedAt} (attempt ${run.attempts})`);
  ' "$work/runs.json" "$installed_ms"
}

installed_ms=$(date +%s)000
started=$SECONDS
waiting=("${users[@]}")
say "waiting for the minute, at most $limit_s s"
while [ ${#waiting[@]} -gt 0 ]; do
  left=()
  for user in "${waiting[@]}"; do
    found=''
    # A tick's line in the log first: asking the database costs a process.
    if grep -qs 'succeeded' "$work/$user/tick.log"; then found=$(scheduled_run "$user"); fi
    if [ -n "$found" ]; then
      [ -t 1 ] && printf '\n'
      say "$user, after $((SECONDS - started)) s: $found"
      sed 's/^/  tick.log: /' "$work/$user/tick.log"
    else
      left+=("$user")
    fi
  done
  waiting=("${left[@]}")
  [ ${#waiting[@]} -eq 0 ] && break
  if [ $((SECONDS - started)) -ge "$limit_s" ]; then
    for user in "${waiting[@]}"; do
      say "$user: no scheduled run of check-scheduler has succeeded within $limit_s s; its tick.log:"
      cat "$work/$user/tick.log" 2> /dev/null || say '  (there is none: cron did not start a tick)'
    done
    exit 1
  fi
  [ -t 1 ] && printf '.'
  sleep 1
done
say "cron works: crontab.example for ${users[*]}"
