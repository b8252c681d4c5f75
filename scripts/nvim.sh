#!/bin/sh
# Prints the Neovim binaries that the tests use, one path per line.
#
# NVIM_BIN: use this binary.
# NVIM_VERSION (v0.11.5, stable, nightly): fetch the official archive into .nvim/, from NVIM_RELEASES if set.
# Otherwise use Neovim >= 0.10 on PATH. If there is none, or if CI=true, fetch the packages of two Debian releases and
# unpack them into .nvim/. The system stays unchanged: apt keeps its state in .nvim/, and the unpacked binary uses the
# unpacked libraries.
# usage: scripts/nvim.sh
#        scripts/nvim.sh relink    makes the binaries in a copy of the checkout use the libraries of the copy
set -eu

releases="trixie forky" # releases with Neovim 0.10 and 0.12

root=$(cd "$(dirname "$0")/.." && pwd -P)
store=$root/.nvim

fail() {
  echo "nvim.sh: $*" >&2
  exit 1
}

# Succeeds if $1 is a working Neovim that is new enough.
is_usable() {
  version=$("$1" --version 2>/dev/null | sed -n '1s/^NVIM v\([0-9]*\.[0-9]*\).*/\1/p') || return 1
  case $version in
    '' | 0.[0-9]) return 1 ;;
  esac
}

# Fetches the official archive of version $1 into the store, unless the store has this version. Unpacks it to another
# folder and then renames that folder, so that an installed version is always complete.
fetch_archive() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=macos ;;
    *) fail "there is no archive for $(uname -s); set NVIM_BIN" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) name=nvim-$os-x86_64 ;;
    arm64 | aarch64) name=nvim-$os-arm64 ;;
    *) fail "there is no archive for $(uname -m); set NVIM_BIN" ;;
  esac
  home=$store/$1
  if [ ! -x "$home/bin/nvim" ]; then
    build=$store/build.$$
    trap 'rm -rf "$build"' EXIT
    mkdir -p "$build"
    curl --fail --silent --show-error --location --retry 3 --output "$build/archive.tar.gz" \
      "${NVIM_RELEASES:-https://github.com/neovim/neovim/releases/download}/$1/$name.tar.gz" >&2 ||
      fail "Neovim $1 cannot be fetched"
    tar -xzf "$build/archive.tar.gz" -C "$build"
    # Ignores the error if another process has installed the same version meanwhile.
    mv "$build/$name" "$home" 2>/dev/null || true
  fi
  is_usable "$home/bin/nvim" || fail "$home/bin/nvim is not a working Neovim >= 0.10"
  echo "$home/bin/nvim"
}

# Writes a source file for apt to the directory $2, for the Debian release $1. Uses the mirror and keys that this
# machine uses.
apt_source() {
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -f "$file" ] || continue
    sed '/^#/d' "$file" | awk -v release="$1" '
      BEGIN { RS = ""; FS = "\n" }
      /(^|\n)Enabled: *no/ || !/(^|\n)Types:[^\n]*deb( |\n|$)/ || !/(^|\n)Components:[^\n]*main/ { next }
      /(^|\n)URIs:[^\n]*security/ { next }
      {
        for (i = 1; i <= NF; i++) {
          if ($i ~ /^Types:/) $i = "Types: deb"
          if ($i ~ /^Suites:/) $i = "Suites: " release
          if ($i ~ /^Components:/) $i = "Components: main"
          print $i
        }
        found = 1
        exit
      }
      END { exit !found }' >"$2/release.sources" && return 0
  done
  rm -f "$2/release.sources"
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk -v release="$1" '
    $1 == "deb" && / main( |$)/ && !/security/ {
      options = match($0, /\[[^]]*\] /) ? substr($0, RSTART, RLENGTH) : ""
      sub(/^deb +(\[[^]]*\] +)?/, "")
      print "deb " options $1 " " release " main"
      found = 1
      exit
    }
    END { exit !found }' >"$2/release.list" ||
    fail "no Debian mirror found in this machine's apt sources; install Neovim >= 0.10 or set NVIM_BIN"
}

# Fetches the Neovim packages of the Debian release $1, and the packages of all needed libraries, into $2/apt.
download() {
  apt=$2/apt
  mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial"
  : >"$apt/status" # treats no package as installed, so that all libraries are fetched
  apt_source "$1" "$apt/sources"
  for step in "update" "install --yes --download-only --no-install-recommends neovim"; do
    # shellcheck disable=SC2086
    apt-get -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources" \
      -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
      -o Dir::State="$apt" -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" \
      -o Dir::Cache="$apt/cache" -o Dir::Cache::Archives="$apt/cache/archives" \
      -o APT::Sandbox::User="$(id -un)" -o APT::Update::Error-Mode=any -o Acquire::Languages=none \
      -o APT::Update::Post-Invoke::= -o Debug::NoLocking=1 --quiet=2 $step >&2 </dev/null ||
      fail "apt-get could not fetch Neovim of Debian $1; install Neovim >= 0.10 or set NVIM_BIN"
  done
}

# Makes the binary in the tree $1 use the libraries in the folder $2. This folder need not exist yet. Writes a new file
# instead of changing the binary, because other trees may contain hard links to the binary.
link_libraries() {
  binary=$1/usr/bin/nvim
  loader=$(cd "$1" && find . -name 'ld-linux*.so*' | head -n 1)
  [ -n "$loader" ] && [ -x "$binary" ] || fail "$1 holds no Neovim with its libraries"
  libraries=$(cd "$1" && find . -name '*.so*' ! -path '*/gconv/*' -exec dirname {} + | sort -u |
    sed "s,^\.,$2," | paste -s -d : -)
  "$root/scripts/need.sh" patchelf patchelf
  # Sets RPATH. RUNPATH would not apply to the libraries that the libraries themselves need.
  patchelf --set-interpreter "$2${loader#.}" --force-rpath --set-rpath "$libraries" --output "$binary.new" "$binary"
  mv "$binary.new" "$binary"
}

# Installs release $1 into the store. Unpacks the release to another folder and renames that folder, so that an
# installed release is always complete. The caller must hold the lock.
install_release() {
  home=$store/$1
  build=$store/build
  rm -rf "$build"
  mkdir -p "$build/tree"
  download "$1" "$build"
  for package in "$build"/apt/cache/archives/*.deb; do
    dpkg -x "$package" "$build/tree"
  done
  link_libraries "$build/tree" "$home"
  rm -rf "$home"
  mv "$build/tree" "$home"
  rm -rf "$build"
}

if [ "${1:-}" = relink ]; then
  for release in $releases; do
    [ ! -d "$store/$release" ] || link_libraries "$store/$release" "$store/$release"
  done
  exit
fi
if [ -n "${NVIM_BIN:-}" ]; then
  is_usable "$NVIM_BIN" || fail "NVIM_BIN=$NVIM_BIN is not a Neovim >= 0.10"
  echo "$NVIM_BIN"
  exit
fi
if [ -n "${NVIM_VERSION:-}" ]; then
  fetch_archive "$NVIM_VERSION"
  exit
fi
if [ "${CI:-}" != true ] && is_usable nvim; then
  command -v nvim
  exit
fi

command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
  fail "no Neovim >= 0.10 on PATH: install one or set NVIM_BIN"
for release in $releases; do
  nvim=$store/$release/usr/bin/nvim
  if ! is_usable "$nvim"; then
    mkdir -p "$store"
    exec 9>"$store/lock"
    flock 9 # one process installs, the others wait for the result
    if ! is_usable "$nvim"; then
      install_release "$release"
      is_usable "$nvim" || fail "$nvim does not run"
    fi
    exec 9>&-
  fi
  echo "$nvim"
done
