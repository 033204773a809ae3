# Sourced by ./dashboard and ./test: a virtual environment with this package in it.
# usage: source scripts/setup.sh [extra]   (extra: test)

set -euo pipefail
# Sourced without a word of its own, it would see the caller's options.
extra=""
if [ "${1:-}" = test ]; then extra=test; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo > /dev/null; then sudo "$@"; else
    echo "Needs root and there is no sudo. Please run: $*" >&2
    return 1
  fi
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
    as_root apt-get update -qq
    as_root apt-get install -y -qq python3-venv
  fi
  "$python" -m venv .venv
}

[ -x .venv/bin/python ] || make_venv

# Install again only where what is wanted has changed since the last time.
# Templates and extensions are copied into the environment, so they count as well.
wanted="$(cat pyproject.toml; find share jupyter-config -type f -exec sha256sum {} + | sort) $extra"
stamp=".venv/installed-${extra:-run}"
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
  echo "Installing (some minutes the first time) …" >&2
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".${extra:+[$extra]}"
  printf '%s' "$wanted" > "$stamp"
fi
