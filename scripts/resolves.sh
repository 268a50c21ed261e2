#!/usr/bin/env bash
# resolves.sh VENV: whether vancetope[anthropic,google] can be installed beside other users of the same libraries. One line for each Python and each of them; nothing is installed.
# Needs the network, as setup does. A lower bound keeps the resolver from saving itself into a version of years ago.
set -euo pipefail
venv=$PWD/$1
venv_python=$venv/bin/python
source scripts/index.sh
project=$("$venv_python" -c 'import pathlib; print(pathlib.Path.cwd().as_uri())')

oldest=$(sed -n 's/^requires-python = ">=\(.*\)"$/\1/p' pyproject.toml)
newest=$(sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml | sort --version-sort | tail -n 1)
shown='pydantic-ai-slim|pydantic|anthropic|google-genai|httpx|jiter|rich|instructor|crewai'
beside=(
    ''
    'instructor>=1.17.0'
    'crewai>=1.15.30'
    'crewai>=1.15.30 instructor>=1.15.4'
)

# A folder of its own: this project tells uv other requirements of instructor than instructor has.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

failed=0
for version in "$oldest" "$newest"; do
    for others in "${beside[@]}"; do
        title="Python $version${others:+, with ${others// / and }}"
        { echo "vancetope[anthropic,google] @ $project"; tr ' ' '\n' <<<"$others"; } >wanted.in
        if "$venv/bin/uv" pip compile --quiet --no-header --no-annotate --python "$venv_python" --python-version "$version" wanted.in >found.txt 2>why.txt; then
            versions=$(sed -nE "s/^($shown)==([^ ;]+).*/\1 \2/p" found.txt | paste -sd, | sed 's/,/, /g')
            echo "$title: $versions"
        else
            failed=1
            echo "$title: does not resolve" >&2
            sed 's/^/    /' why.txt >&2
        fi
    done
done
exit "$failed"
