#!/bin/sh
# Makes sure that a command is there: installs its Debian package with apt-get when running as root,
# else says what to install.
# usage: scripts/need.sh <command> <Debian package>
set -eu

command -v "$1" >/dev/null 2>&1 && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  install="apt-get install --yes --quiet=2 --no-install-recommends $2"
  # The package lists of a fresh machine are empty or stale: only then are they worth fetching.
  { $install || { apt-get update --quiet=2 && $install; }; } >&2 </dev/null
  command -v "$1" >/dev/null 2>&1 && exit 0
fi

echo "$1 is missing: install it (Debian and Ubuntu: the package $2; others: $1) and try again." >&2
exit 1
