"""What may be fetched: the form of an address, its port, and what an owner permits beyond the public web."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vancetope import sentences
from vancetope.errors import ConfigError
from vancetope.tools.failure import ToolFailed
from vancetope.tools.web import address

if TYPE_CHECKING:
    import httpx

LONGEST_URL = 8_000
"""Characters; servers take no longer ones."""

# Ports from 1024 up that browsers do not fetch from either: other protocols listen there and may obey an HTTP request.
_OTHER_PROTOCOLS = frozenset(
    {
        1719,
        1720,
        1723,
        2049,
        3659,
        4045,
        4190,
        5060,
        5061,
        6000,
        6379,
        6566,
        *range(6665, 6670),
        6679,
        6697,
        10080,
        11211,
    }
)
_ENTRY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[^\s\[\]:/@*?#]+)(?::(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class WebRules:
    """What the owner of a project permits although it is not on the public web: in `allow`, a host for the ports of the
    web, or host:port for that port alone. Hosts match exactly, by the name or address that stands in the URL.

    Raises `ConfigError` for an entry that is neither.
    """

    allow: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "allow", tuple(_entry(each) for each in self.allow))

    def permits(self, host: str, port: int) -> bool:
        shown = f"[{host}]" if ":" in host else host
        return f"{shown}:{port}" in self.allow or (shown in self.allow and is_web_port(port))


def is_web_port(port: int) -> bool:
    """80, 443, and from 1024 up all that no other protocol is known for.

    The lower ones belong to other protocols (mail, shells, databases), and an address is often a stranger's. Those
    above are where half of the small web servers listen; private hosts are refused whatever their port.
    """
    return port in (80, 443) or (1024 <= port <= 65535 and port not in _OTHER_PROTOCOLS)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be asked for, if its host's addresses may be. `host` is lower case, IDNA-encoded, without brackets
    and final dot."""

    url: httpx.URL
    host: str
    port: int

    @property
    def shown(self) -> str:
        """The URL without its fragment, as it may be shown: it holds no credentials."""
        return shown(str(self.url))

    def joined(self, reference: str, rules: WebRules) -> Target:
        """The target of a reference on this page. Raises `ToolFailed` as `target` does."""
        import httpx

        try:
            return target(str(self.url.join(reference)), rules)
        except (httpx.InvalidURL, ValueError, TypeError):
            raise ToolFailed(sentences.WEB_NO_URL.format(url=quoted(reference))) from None


def target(url: str, rules: WebRules) -> Target:
    """Raises `ToolFailed` for what is no http(s) URL, or must not be fetched, whatever its host resolves to."""
    import httpx

    url = url.strip()
    if len(url) > LONGEST_URL:
        raise ToolFailed(sentences.WEB_LONG_URL.format(size=LONGEST_URL))
    scheme, colon, _ = url.partition(":")
    is_scheme = colon and re.fullmatch(r"[a-zA-Z][a-zA-Z0-9+-]*", scheme) and scheme.lower() not in ("http", "https")
    if is_scheme and not re.match(r"[^/?#]*:[0-9]+(?:[/?#]|\Z)", url):  # that is a host with a port
        raise ToolFailed(sentences.WEB_SCHEME.format(scheme=scheme[:20].lower()))
    if "@" in re.split(r"[/?#\\]", url.partition("://")[2], maxsplit=1)[0]:
        raise ToolFailed(sentences.WEB_CREDENTIALS)
    try:
        parsed = httpx.URL(url).copy_with(fragment=None)
        host = parsed.raw_host.decode("ascii").lower().removesuffix(".")
    except (httpx.InvalidURL, ValueError, TypeError):
        host, parsed = "", None
    if parsed is None or parsed.scheme not in ("http", "https") or not host:
        raise ToolFailed(sentences.WEB_NO_URL.format(url=quoted(url)))
    if parsed.userinfo:
        raise ToolFailed(sentences.WEB_CREDENTIALS)
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    host = host.removeprefix("[").removesuffix("]")
    _check(host, port, rules)
    return Target(parsed, host, port)


def _check(host: str, port: int, rules: WebRules) -> None:
    try:
        ip = address.literal(host)
    except ValueError:
        raise ToolFailed(sentences.WEB_ODD_HOST.format(host=quoted(host))) from None
    if rules.permits(host, port):
        return
    if not is_web_port(port):
        raise ToolFailed(sentences.WEB_PORT.format(port=port))
    if ip is not None and not address.is_public(ip):
        raise ToolFailed(sentences.WEB_PRIVATE.format(host=host))


def _entry(entry: str) -> str:
    found = _ENTRY.fullmatch(entry.strip().lower())
    host = found["host"].removesuffix(".") if found else ""
    try:
        bare = host.removeprefix("[").removesuffix("]")
        if not host.isascii():
            import httpx

            bare = host = httpx.URL(f"http://{host}").raw_host.decode("ascii")
        ip = address.literal(bare)
    except ValueError:
        host = ""
    else:
        host = host if ip is None else f"[{ip}]" if ip.version == 6 else str(ip)
    port = int(found["port"]) if found and found["port"] else None
    if not host or port == 0 or (port or 0) > 65535:
        raise ConfigError(
            f"web.allow: {quoted(entry)} is no host and no host:port; "
            "write a name or an address, such as wiki.example or 127.0.0.1:8080"
        )
    return host if port is None else f"{host}:{port}"


def shown(url: str) -> str:
    return url if len(url) <= 500 else f"{url[:500]}..."


def quoted(text: str) -> str:
    return json.dumps(text if len(text) <= 80 else f"{text[:80]}...", ensure_ascii=False)
