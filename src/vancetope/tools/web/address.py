"""Which addresses belong to the public web."""

from __future__ import annotations

import ipaddress
import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

# Written out, because what Python's `is_global` says differs between its versions, and it lets multicast pass.
_CLOSED_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",
            "100.64.0.0/10",  # behind a provider's NAT; a cloud's metadata
            "127.0.0.0/8",
            "168.63.129.16/32",  # public by its number, but a cloud's metadata
            "169.254.0.0/16",  # this link; clouds' metadata
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_OPEN_6 = IPv6Network("2000::/3")  # all that is unicast and global so far
_CLOSED_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocols, Teredo among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: any IPv4 address in an envelope
            "2620:4f:8000::/48",
            "3fff::/20",  # documentation
        ),
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")

_NAME = re.compile(r"[a-z0-9._-]+")
_NUMERIC = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z", re.IGNORECASE)


def is_public(address: Address) -> bool:
    """Whether this is a unicast address of the public internet.

    IPv6 is closed but for what is allotted. An IPv4 address inside an IPv6 one is judged in its place where hosts use
    that form today (mapped, NAT64's own prefix); obsolete tunnels (6to4, Teredo, compatible addresses) are closed. The
    NAT64 prefix that a network chose for itself cannot be told from other addresses.
    """
    if isinstance(address, IPv4Address):
        return not any(address in each for each in _CLOSED_4)
    if address.scope_id is not None:
        return False
    if address in _MAPPED or address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _OPEN_6 and not any(address in each for each in _CLOSED_6)


def literal(host: str) -> Address | None:
    """The address that a host is written as, or `None` for a name. Raises `ValueError` for a host that some resolvers
    would take for a number (octal, hexadecimal, short or with leading zeros), and for one that is neither."""
    if "%" in host:
        raise ValueError
    if ":" in host:
        return ipaddress.IPv6Address(host)
    if _NUMERIC.match(host.rpartition(".")[2]):
        return IPv4Address(host)
    if not _NAME.fullmatch(host) or len(host) > 253 or any(not 0 < len(each) < 64 for each in host.split(".")):
        raise ValueError
    return None
