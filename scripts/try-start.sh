#!/usr/bin/env bash
# Tries the two commands' first half as a newcomer would: fresh clones, `npm ci && npm start`, and a scheduled run that
# succeeds. Two clones at once, one in a path with a space and installed without scripts; then again after kill -9;
# then, as root, as another user.
#
#   scripts/try-start.sh            takes the last commit of this checkout; about three minutes
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
chmod 711 "$work"
unset DATABASE_URL TOCK_DATA TOCK_JOBS TOCK_SCHEMA 2>/dev/null || true
children=()
cleanup() {
  for pid in "${children[@]:-}"; do [ -n "$pid" ] && kill -9 -- "-$pid" 2>/dev/null || true; done
  for folder in "$work"/*/; do stop_server "$folder"; done
  rm -rf "$work"
}
# The embedded server outlives a killed starter; the next start would join it. Nobody will, so end it.
stop_server() {
  local pidfile
  for pidfile in "$1"/.tock/data/postmaster.pid; do
    [ -f "$pidfile" ] && kill -INT "$(head -1 "$pidfile")" 2>/dev/null || true
  done
}
trap cleanup EXIT
say() { printf '%s\n' "$*"; }

clone() { git clone --quiet "$here" "$1"; }

# start FOLDER [USER]: begins `npm start` in a process group of its own; sets $pid.
start() {
  local folder=$1 user=${2:-}
  # So that a line of the previous start is not taken for one of this.
  rm -f "$folder/start.log"
  if [ -n "$user" ]; then
    setsid setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups env HOME="$folder" npm --prefix "$folder" start >"$folder/start.log" 2>&1 &
  else
    (cd "$folder" && exec setsid npm start >"$folder/start.log" 2>&1) &
  fi
  pid=$!
  children+=("$pid")
}

# count FOLDER: how many scheduled runs have succeeded there.
count() {
  (cd "$1" && node dist/cli.js runs --status succeeded --limit 1000 --json 2>/dev/null) |
    node -e 'let t=""; process.stdin.on("data", d => t += d).on("end", () => console.log(t ? JSON.parse(t).runs.filter(r => r.trigger === "cron").length : 0))'
}

# The build, initdb, and then up to a minute until the next occurrence.
limit_s=240

# await FOLDER [MORE_THAN]: waits until a scheduled run has succeeded, at most so long.
await() {
  local folder=$1 more_than=${2:-0} began=$SECONDS
  until [ "$(count "$folder")" -gt "$more_than" ]; do
    if [ $((SECONDS - began)) -gt "$limit_s" ]; then
      say "FAILED: no scheduled run succeeded in $folder; its log:"
      cat "$folder/start.log"
      exit 1
    fi
    sleep 1
  done
}

# stop PID FOLDER: Ctrl-C to the whole group, as a terminal sends it; the server must be gone too.
stop() {
  kill -INT -- "-$1"
  wait "$1" || true
  if [ -f "$2/.tock/data/postmaster.pid" ]; then
    say "FAILED: the embedded server of $2 is still there after Ctrl-C; the log:"
    cat "$2/start.log"
    exit 1
  fi
}

one="$work/one" two="$work/two with a space"
say "two fresh clones at once, the second in a path with a space and without install scripts"
clone "$one"
clone "$two"
began=$SECONDS
(cd "$one" && npm ci --silent --no-fund --no-audit)
(cd "$two" && npm ci --silent --no-fund --no-audit --ignore-scripts)
say "  npm ci twice: $((SECONDS - began)) s"
began=$SECONDS
start "$one"; pid_one=$pid
start "$two"; pid_two=$pid
await "$one"
await "$two"
say "  a scheduled run succeeded in both within $((SECONDS - began)) s of npm start"

user=
if [ "$(id -u)" = 0 ]; then
  user=nobody
  three="$work/three"
  clone "$three"
  cp -r "$one/node_modules" "$three/node_modules"
  chown -R "$user" "$three"
  start "$three" "$user"; pid_three=$pid
fi

say "kill -9 of everything in the first, server included, and Ctrl-C in the second"
stop "$pid_two" "$two"
server=$(head -1 "$one/.tock/data/postmaster.pid")
kill -9 -- "-$pid_one"
kill -9 "$server"
wait "$pid_one" 2>/dev/null || true
began=$SECONDS
start "$one"; pid_one=$pid
until grep -qs 'running on' "$one/start.log"; do sleep 0.2; done
await "$one" "$(count "$one")"
say "  another scheduled run succeeded within $((SECONDS - began)) s of the next npm start"
stop "$pid_one" "$one"

if [ -n "$user" ]; then
  say "as the user $user, at the same time"
  until grep -qs 'run .* succeeded' "$three/start.log"; do
    [ $((SECONDS - began)) -gt "$limit_s" ] && { say "FAILED as $user:"; cat "$three/start.log"; exit 1; }
    sleep 1
  done
  say "  a scheduled run succeeded"
  stop "$pid_three" "$three"
fi
say "all starts succeeded"
