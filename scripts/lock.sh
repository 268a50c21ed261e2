#!/usr/bin/env bash
# lock.sh UV [ARGUMENTS OF uv lock]: resolve once for all platforms, then write the hashed requirements/*.txt.
set -euo pipefail
uv=$1
shift
"$uv" lock --quiet "$@"
write() {
    local file=$1
    shift
    "$uv" export --quiet --frozen --format requirements-txt --no-emit-project --no-header --output-file "requirements/$file.txt" "$@" >/dev/null
}
write uv --only-group tool
write build --only-group build
write runtime --extra local
write dev --extra local --extra anthropic --extra google --group dev --group model --group tool
write bench --extra local --extra anthropic --extra google --group bench --group model --group tool --group backend
