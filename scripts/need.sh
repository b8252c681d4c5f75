#!/bin/sh
# Checks that a command exists. If it is missing, tries to install it: as root from the Debian package; as another user
# only if CI=true, with sudo or Homebrew. If the command is still missing, fails with advice.
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
  # Fetches the package lists and tries again if the installation fails, because a new machine may have no package
  # lists.
  { $install || { $sudo apt-get update --quiet=2 && $install; }; } >&2 </dev/null
  is_there "$1" && exit 0
elif [ "${CI:-}" = true ] && is_there brew; then
  brew install "$1" >&2 </dev/null
  is_there "$1" && exit 0
fi

echo "$1 is missing: install it (Debian and Ubuntu: the package $2; others: $1) and try again." >&2
exit 1
