#!/usr/bin/env bash
# setup.sh VENV LOCK: make VENV hold exactly what LOCK names, plus this project in editable form. Safe to run again at any point.
set -euo pipefail
venv=$1 lock=$2

works() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The newest of the usual names that starts and is new enough; PYTHON=... overrides.
pick_python() {
    local name best='' best_version='' version
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        works "$name" || continue
        version=$("$name" -c 'import sys; print("%03d%03d" % sys.version_info[:2])')
        if [[ $version > $best_version ]]; then best=$name best_version=$version; fi
    done
    if [[ -z $best ]]; then
        echo "vancetope needs Python 3.11 or newer and found none (tried ${PYTHON:-python3 python3.13 python3.12 python3.11}); name one with PYTHON=..." >&2
        exit 1
    fi
    echo "$best"
}

rm -f "$venv/.ready"
if ! works "$venv/bin/python" || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(pick_python)
    rm -rf "$venv"
    if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
        rm -rf "$venv"
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        echo "$python cannot make a virtual environment; on Debian and Ubuntu: apt install python$version-venv" >&2
        exit 1
    fi
fi

"$venv/bin/python" -m pip install --quiet --require-hashes -r requirements/uv.txt

venv_python=$venv/bin/python
source scripts/index.sh

export VIRTUAL_ENV=$PWD/$venv
uv=$venv/bin/uv
"$uv" pip sync --quiet --require-hashes --build-constraints requirements/build.txt "$lock"
# --no-build-isolation: the build backend is already here, from the lock.
"$uv" pip install --quiet --no-deps --no-build-isolation --editable .

# The local model's runtime brings everything but this system library, which minimal systems lack.
if ! "$venv/bin/python" -c 'import xllamacpp' >/dev/null 2>&1; then
    echo "the local model's runtime does not start here; on Debian and Ubuntu: apt install libgomp1 (or see: $venv/bin/python -c 'import xllamacpp')" >&2
    exit 1
fi
