# Sourced, with the environment's Python in $venv_python: uv does not read pip's configuration, so this hands over a mirror or a certificate file that only pip was told of.
pip_setting() { "$venv_python" -m pip config list 2>/dev/null | sed -n "s/^[^=]*\.$1='\(.*\)'\$/\1/p" | tail -n 1; }
if [[ -z ${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}${UV_CONFIG_FILE:-} ]]; then
    index=${PIP_INDEX_URL:-$(pip_setting index-url)}
    if [[ -n $index ]]; then export UV_DEFAULT_INDEX=$index; fi
fi
if [[ -z ${SSL_CERT_FILE:-} ]]; then
    certificates=${PIP_CERT:-$(pip_setting cert)}
    if [[ -n $certificates ]]; then export SSL_CERT_FILE=$certificates; fi
fi
