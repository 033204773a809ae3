# shellcheck shell=bash
# Sourced by ./dashboard and ./test: a virtual environment with this package in it.
# usage: source scripts/setup.sh [extra]   (extra: test)

set -euo pipefail
# Sourced without a word of its own, it would see the caller's options.
extra=""
if [ "${1:-}" = test ]; then extra="test"; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Has the system install packages, or says who must.
system_packages() {
  local root=()
  if [ "$(id -u)" != 0 ]; then root=(sudo); fi
  if ! command -v apt-get > /dev/null; then
    echo "Please install $* with this system's package manager, then start again." >&2
    return 1
  elif [ ${#root[@]} != 0 ] && ! command -v sudo > /dev/null; then
    echo "Please have root run: apt-get install $*   Then start again." >&2
    return 1
  fi
  ${root[@]+"${root[@]}"} apt-get update -qq
  ${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"
}

find_python() {
  local name
  for name in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    if [ -n "$name" ] && command -v "$name" > /dev/null &&
      "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      command -v "$name"
      return
    fi
  done
  echo "Python 3.11 or newer is needed (set PYTHON to it)." >&2
  return 1
}

make_venv() {
  local python
  python=$(find_python)
  # Debian ships Python without what makes a virtual environment.
  if ! "$python" -c 'import ensurepip, venv' 2> /dev/null; then
    system_packages python3-venv
  fi
  "$python" -m venv .venv
}

# An interrupted first run leaves an environment without pip.
if [ ! -x .venv/bin/python ] || [ ! -e .venv/bin/pip ]; then make_venv; fi

# Install again only where what is wanted has changed since the last time.
# Templates and extensions are copied into the environment, and its commands hold this folder's name.
wanted="$PWD $(cat pyproject.toml; find share jupyter-config -type f -exec cksum {} + | sort) $extra"
stamp=".venv/installed-${extra:-run}"
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
  echo "Installing (some minutes the first time) …" >&2
  if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".${extra:+[$extra]}"; then
    echo "The packages could not be installed: see above. Without a network, point PIP_INDEX_URL or PIP_FIND_LINKS at a mirror." >&2
    exit 1
  fi
  printf '%s' "$wanted" > "$stamp"
fi
