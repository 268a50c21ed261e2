from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vancetope.tools.web.address import Address, is_public, literal

CLOSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd12:3456::1",
    "ff02::1",
    "ff0e::1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "4000::1",
    "8000::1",
]
OPEN = [
    "1.1.1.1",
    "8.8.8.8",
    "9.9.9.9",
    "11.0.0.1",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "2001:4860:4860::8888",
    "2001:200::1",
    "2400::1",
    "2620:0:2d0:200::7",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]


@pytest.mark.parametrize("text", CLOSED)
def test_an_address_that_is_not_on_the_public_web_is_closed(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", OPEN)
def test_a_public_address_is_open(text: str) -> None:
    assert is_public(ip_address(text))


def inside(address: Address) -> list[Address]:
    """The address and the IPv4 addresses that it may hold by any of the known forms."""
    found = [address]
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            found.append(address.ipv4_mapped)
        if address.sixtofour:
            found.append(address.sixtofour)
        if address.teredo:
            found.extend(address.teredo)
        if address in ipaddress.IPv6Network("64:ff9b::/96"):
            found = [IPv4Address(int(address) & 0xFFFF_FFFF)]
    return found


V4 = st.ip_addresses(v=4) | st.sampled_from([IPv4Address(each) for each in CLOSED + OPEN if ":" not in each])
V6 = (
    st.ip_addresses(v=6)
    | V4.map(lambda four: IPv6Address(0xFFFF << 32 | int(four)))
    | V4.map(lambda four: IPv6Address(0x64FF9B << 96 | int(four)))
    | V4.map(lambda four: IPv6Address(0x2002 << 112 | int(four) << 80 | 1))
    | V4.map(lambda four: IPv6Address(0x20010000 << 96 | int(four) << 64 | (int(four) ^ 0xFFFF_FFFF)))
    | V4.map(lambda four: IPv6Address(int(four)))
)


@given(V4 | V6)
@example(IPv6Address("::ffff:127.0.0.1"))
def test_what_is_open_is_nothing_that_python_knows_to_be_closed(address: Address) -> None:
    if not is_public(address):
        return
    for each in inside(address):
        mapped = isinstance(each, IPv6Address) and each.ipv4_mapped is not None
        assert mapped or each.is_global
        assert not (each.is_loopback)
        assert not (each.is_link_local)
        assert not (each.is_multicast)
        assert not (each.is_unspecified)
        assert mapped or not each.is_private
        assert mapped or not each.is_reserved


@given(st.ip_addresses(v=4))
def test_what_is_closed_in_ipv4_has_a_reason_that_python_knows_or_that_stands_here(address: IPv4Address) -> None:
    ours = (
        "168.63.129.16/32",
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
    )
    known = not address.is_global or address.is_multicast or address.is_reserved
    assert is_public(address) is not (known or any(address in ipaddress.ip_network(each) for each in ours))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_where_ipv6_carries_it(address: IPv4Address) -> None:
    assert is_public(IPv6Address(0xFFFF << 32 | int(address))) is is_public(address)
    assert is_public(IPv6Address(0x64FF9B << 96 | int(address))) is is_public(address)


def test_an_address_with_a_zone_is_closed() -> None:
    assert not is_public(ip_address("2606:4700:4700::1111%eth0"))


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "0x",
        "a.0x1",
        "1.2.3.256",
        "a b",
        "a%20b",
        "%6cocalhost",
        "",
        "a..b",
        ".",
        "x" * 64,
        "a/b",
        "::1%25lo",
        "1:2",
    ],
)
def test_a_host_that_may_be_read_as_another_number_is_none(host: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (three modules raise it, each in other words)
        literal(host)


def test_names_and_plain_addresses_are_hosts() -> None:
    assert literal("example.com") is None
    assert literal("1.example") is None
    assert literal("my_host-2") is None
    assert literal("127.0.0.1") == IPv4Address("127.0.0.1")
    assert literal("::1") == IPv6Address("::1")
