#!/usr/bin/env bash
# Runs a command on a machine that has Debian's cron and no crontab yet: in namespaces of its own, with a copy of /etc, an empty
# /run, an empty spool of crontabs and no program that mails. The crontabs of this machine, and a cron that runs on it, are
# neither seen nor changed, whatever happens; and what the command has started ends with it.
#
#   HOST_ZONE=Europe/Berlin scripts/machine/private-cron.sh COMMAND …       HOST_ZONE: the time zone of that machine
#
# Needs root, and a kernel that allows namespaces: otherwise it ends with 69, and has done nothing.
set -euo pipefail
refuse() { printf 'private-cron: %s\n' "$*" >&2; exit 69; }

if [ "${1:-}" != --inside ]; then
  [ "$(id -u)" = 0 ] || refuse 'only root can have namespaces of its own here'
  for program in cron crontab unshare; do
    command -v "$program" >/dev/null || refuse "$program is not installed (Debian: apt-get install -y cron util-linux)"
  done
  unshare --mount --pid --fork --kill-child --mount-proc true 2>/dev/null || refuse 'this machine allows no namespaces'
  private=$(mktemp -d)
  trap 'rm -rf "$private"' EXIT
  code=0
  unshare --mount --pid --fork --kill-child --mount-proc "$0" --inside "$private" "$@" || code=$?
  exit "$code"
fi

private=$2
shift 2
mkdir "$private/etc" "$private/run" "$private/spool"
cp -a /etc/. "$private/etc"
rm -rf "$private/etc"/cron.*
mkdir "$private/etc/cron.d"
: >"$private/etc/crontab"
if [ -n "${HOST_ZONE:-}" ]; then
  ln -sfn "/usr/share/zoneinfo/$HOST_ZONE" "$private/etc/localtime"
  printf '%s\n' "$HOST_ZONE" >"$private/etc/timezone"
fi
chown root:crontab "$private/spool"
chmod 1730 "$private/spool"
chmod 755 "$private/etc" "$private/run"
mount --bind "$private/etc" /etc
mount --bind "$private/run" /run
mount --bind "$private/spool" /var/spool/cron/crontabs
# Numbers of processes begin anew here, and what is named after them must not be found.
case "$PWD $private" in */dev/shm*) ;; *) mount -t tmpfs -o mode=1777 tmpfs /dev/shm ;; esac
# Cron mails what commands print, if it can.
if [ -e /usr/sbin/sendmail ]; then mount --bind /bin/true /usr/sbin/sendmail; fi
# Not exec: this shell is process 1 there, and reaps.
code=0
"$@" || code=$?
exit "$code"
