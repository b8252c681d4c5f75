#!/bin/sh
# Makes sure that a command is there: installs its Debian package with apt-get when running as root, and when CI=true
# also with sudo, or with Homebrew under the command's own name; else says what to install.
# usage: scripts/need.sh <command> <Debian package>
set -eu

is_there() {
  command -v "$1" >/dev/null 2>&1
}

is_there "$1" && exit 0

sudo=
[ "$(id -u)" = 0 ] || [ "${CI:-}" != true ] || sudo="sudo --non-interactive"

if is_there apt-get && { [ "$(id -u)" = 0 ] || [ -n "$sudo" ]; }; then
  export DEBIAN_FRONTEND=noninteractive
  install="$sudo apt-get install --yes --quiet=2 --no-install-recommends $2"
  # The package lists of a fresh machine are empty or stale: only then are they worth fetching.
  { $install || { $sudo apt-get update --quiet=2 && $install; }; } >&2 </dev/null
  is_there "$1" && exit 0
elif [ "${CI:-}" = true ] && is_there brew; then
  brew install "$1" >&2 </dev/null
  is_there "$1" && exit 0
fi

echo "$1 is missing: install it (Debian and Ubuntu: the package $2; others: $1) and try again." >&2
exit 1
