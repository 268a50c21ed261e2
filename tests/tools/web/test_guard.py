"""What web_fetch reaches, and what it does not."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
from collections.abc import Sequence

import httpcore
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.tools.running import answer
from tests.tools.web.serving import body_of, fetched, head_of, page, redirect, refusal, resolving, serving
from vancetope.errors import ConfigError
from vancetope.tools.failure import ToolFailed
from vancetope.tools.web.fetch import web_fetch
from vancetope.tools.web.fetcher import Fetcher
from vancetope.tools.web.rules import WebRules, is_web_port, target

PRIVATE = "is not on the public web"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:8080/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://0.0.0.0/",
        "http://255.255.255.255/",
        "http://224.0.0.1/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:7f00:1::]/",
        "http://[fd00:ec2::254]/",
        "https://192.168.0.1/",
        "http://127.0.0.1./",
        " http://127.0.0.1/ ",
        "HTTP://127.0.0.1/",
    ],
)
async def test_a_private_address_is_refused(url: str) -> None:
    assert PRIVATE in await refusal(url)


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "127.1",
        "017700000001",
        "%6cocalhost",
        "[fe80::1%25eth0]",
        "[::1%25lo]",
        "a..b",
        "a%20b",
        "x" * 70 + ".de",
    ],
)
async def test_a_host_in_a_form_that_hides_what_it_is_is_refused(host: str) -> None:
    assert "is no name of a host" in await refusal(f"http://{host}/")


@pytest.mark.parametrize(
    "host",
    ["\uff11\uff12\uff17.0.0.1", "ⓛocalhost", "☃.example", "127.0.0.01", "0177.0.0.1", "exa mple", "[::1", "a]b"],
)
async def test_a_host_that_is_no_valid_name_is_refused(host: str) -> None:
    said = await refusal(f"http://{host}/")
    assert "is no address of a web page" in said or "is no name of a host" in said


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "localhost.", "metadata.google.internal", "db.local"])
async def test_a_name_that_leads_to_a_private_address_is_refused(name: str) -> None:
    resolver = resolving(localhost=["127.0.0.1"], metadata_google_internal=["169.254.169.254"], db_local=["10.0.0.7"])
    assert PRIVATE in await refusal(f"http://{name}/", resolver=resolver)


@pytest.mark.parametrize(
    "addresses",
    [
        ["93.184.216.34", "10.0.0.1"],
        ["8.8.8.8"] * 30 + ["::1"],
        ["2606:4700::1", "::ffff:127.0.0.1"],
        ["8.8.8.8", "fe80::1%eth0"],
        ["8.8.8.8", "nonsense"],
    ],
)
async def test_one_private_address_among_public_ones_closes_the_name(addresses: list[str]) -> None:
    assert PRIVATE in await refusal("http://many.example/", resolver=resolving(many_example=addresses))


async def test_the_real_resolver_is_asked_for_loopback_too() -> None:
    rules = WebRules()
    with pytest.raises(ToolFailed, match=PRIVATE):
        await answer(web_fetch(rules), url="http://localhost/")


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name resolves to a public address once, and to loopback whenever it is asked again."""
    asked: list[str] = []
    reached: list[object] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    class Network:
        async def connect_tcp(self, host: str, port: int, *others: object) -> object:
            reached.append((host, port))
            raise OSError("no network")

    monkeypatch.setattr(httpcore, "AnyIOBackend", Network)
    with pytest.raises(OSError, match="no network"):
        await answer(web_fetch(WebRules(), Fetcher(WebRules(), rebinding)), url="http://rebind.example/")
    assert asked == ["rebind.example"]
    assert reached == [("93.184.216.34", 80)]


async def test_a_name_that_turns_private_between_two_redirects_is_refused() -> None:
    async with serving({"/": redirect("http://rebind.example:8000/")}) as site:
        answers = iter([["127.0.0.1"], ["127.0.0.1"]])

        async def rebinding(host: str, port: int) -> Sequence[str]:
            return next(answers)

        rules = WebRules((f"start.example:{site.port}",))
        fetcher = Fetcher(rules, rebinding)
        with pytest.raises(ToolFailed, match=f"rebind.example {PRIVATE}"):
            await answer(web_fetch(rules, fetcher), url=f"http://start.example:{site.port}/")
        assert site.taken == 1


async def test_a_name_is_sent_as_host_while_its_number_is_connected_to() -> None:
    async with serving({"/a%20b": page("<p>hi")}) as site:
        rules = WebRules((f"my.example:{site.port}",))
        fetcher = Fetcher(rules, resolving(my_example=["127.0.0.1", "127.0.0.1"]))
        told = await answer(web_fetch(rules, fetcher), url=f"http://My.Example.:{site.port}/a%20b?c=d#e")
        assert body_of(told) == "hi"
        head = site.heads[0]
        assert head.startswith("GET /a%20b?c=d HTTP/1.1\r\n")
        assert f"host: my.example.:{site.port}\r\n" in head.lower()


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))
        async with serving(page("<p>here")) as site:
            rules = WebRules((f"two.example:{site.port}",))
            fetcher = Fetcher(rules, resolving(two_example=["127.0.0.3", "127.0.0.1"]))
            assert "here" in await answer(web_fetch(rules, fetcher), url=f"http://two.example:{site.port}/")


async def test_addresses_share_the_time_and_both_families_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, float]] = []

    class Network:
        async def connect_tcp(self, host: str, port: int, timeout: float, *others: object) -> object:
            tried.append((host, timeout))
            raise httpcore.ConnectTimeout

    monkeypatch.setattr(httpcore, "AnyIOBackend", Network)
    addresses = [f"2606:4700::{n}" for n in range(1, 9)] + ["8.8.8.8", "8.8.4.4"]
    assert "did not answer within 10 s" in await refusal("http://x.example/", resolver=resolving(x_example=addresses))
    assert tried == [(each, 2.5) for each in ("2606:4700::1", "8.8.8.8", "2606:4700::2", "2606:4700::3")]


async def test_tls_asks_for_the_name_and_checks_it() -> None:
    hello = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.extend(await reader.read(4096))
        writer.write(b"HTTP/1.1 400 this is no TLS\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rules = WebRules((f"secure.example:{port}",))
    fetcher = Fetcher(rules, resolving(secure_example=["127.0.0.1"]))
    try:
        with pytest.raises(ToolFailed, match=r"no secure connection to secure\.example can be made"):
            await answer(web_fetch(rules, fetcher), url=f"https://secure.example:{port}/")
    finally:
        server.close()
    assert b"secure.example" in hello
    assert fetcher.tls is not None
    assert fetcher.tls.check_hostname


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/",
        "http://127.0.0.1:1024/",
        "//10.0.0.1/x",
        "http://[::1]:8080/",
        "http://0x7f.1/",
        "http://localhost:9999/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "data:text/html,hi",
        "javascript:alert(1)",
        "http://user:secret@example.com/",
        "http://example.com:22/",
        "http://",
        "http://exa mple\x01/",
    ],
)
async def test_a_redirect_is_judged_like_an_address_that_was_asked_for(location: str) -> None:
    async with serving(redirect(location)) as site:
        resolver = resolving(localhost=["127.0.0.1"])
        with pytest.raises(ToolFailed) as failed:
            await answer(web_fetch(site.rules, Fetcher(site.rules, resolver)), url=site.url())
        assert "secret" not in str(failed.value)
        assert site.taken == 1


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_redirects_are_followed_and_the_last_address_is_told(status: str) -> None:
    async with serving({"/": redirect("next?a=b", status), "/next": page("<p>there")}) as site:
        told = await fetched(site)
        assert head_of(told).startswith(f"[web page {site.url('/next?a=b')}, HTTP 200 OK")
        assert body_of(told) == "there"
        assert not any("referer" in head.lower() or "cookie" in head.lower() for head in site.heads)


async def test_a_cookie_that_a_redirect_sets_is_not_sent_back() -> None:
    first = page("", status="302 Found", location="/next", set_cookie="a=b")
    async with serving({"/": first, "/next": page("<p>x")}) as site:
        await fetched(site)
        assert "cookie" not in site.heads[1].lower()


async def test_five_redirects_are_followed_and_a_sixth_is_not() -> None:
    pages = {f"/{n}": redirect(f"/{n + 1}") for n in range(6)} | {"/6": page("<p>end")}
    async with serving(pages) as site:
        assert "end" in await fetched(site, "/1")
        with pytest.raises(ToolFailed, match="redirects more than 5 times"):
            await fetched(site, "/0")


@pytest.mark.parametrize("location", ["/", "/two"])
async def test_redirects_in_a_circle_are_told(location: str) -> None:
    async with serving({"/": redirect(location), "/two": redirect("/#again")}) as site:
        with pytest.raises(ToolFailed, match="redirects in a circle"):
            await fetched(site)


async def test_a_redirect_without_a_place_is_a_page() -> None:
    async with serving(page("<p>moved", status="302 Found")) as site:
        assert "moved" in await fetched(site)


@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("ftp://example.com/a", "ftp"),
        ("file:///etc/passwd", "file"),
        ("data:text/html,<p>x", "data"),
        ("gopher://x/", "gopher"),
        ("javascript:alert(1)", "javascript"),
        ("mailto:a@b.de", "mailto"),
    ],
)
async def test_another_scheme_is_refused_by_its_name(url: str, scheme: str) -> None:
    assert await refusal(url) == f"only http:// and https:// addresses can be read, not {scheme}:"


@pytest.mark.parametrize(
    "url", ["example.com", "example.com:8080/x", "//example.com/", "http:example.com", "http://", "x"]
)
async def test_what_is_no_address_of_a_page_is_told_how_one_looks(url: str) -> None:
    assert "give one that starts with http:// or https://" in await refusal(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2@example.com/",
        "http://hunter2@example.com/",
        "http://:hunter2@example.com/",
        "http://hunter2:@127.0.0.1/",
        "http://example.com\\@hunter2@10.0.0.1/",
        "https://hunter2%40x@example.com:70000/",
    ],
)
async def test_credentials_in_an_address_are_refused_and_not_repeated(url: str) -> None:
    said = await refusal(url)
    assert "user name or a password" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("port", [22, 25, 53, 110, 143, 389, 587, 993, 1023, 6379, 6000, 6667, 11211, 5060])
async def test_a_port_of_another_protocol_is_refused(port: int) -> None:
    assert f"port {port} belongs to another kind of server" in await refusal(f"http://example.com:{port}/")


def test_web_ports_are_the_two_and_the_free_ones() -> None:
    assert all(map(is_web_port, [80, 443, 3000, 5000, 8000, 8080, 8443, 9000, 65535]))
    assert not any(map(is_web_port, [-1, 0, 1, 81, 444, 1023, 65536]))


async def test_a_very_long_address_is_refused() -> None:
    assert "longer than 8,000 characters" in await refusal(f"http://example.com/{'x' * 9000}")


def test_a_name_in_another_script_is_sent_in_ascii() -> None:
    at = target("https://BÜCHER.example/ä?q=ü#z", WebRules())
    assert at.host == "xn--bcher-kva.example"
    assert at.url.raw_path == b"/%C3%A4?q=%C3%BC"
    assert "#" not in at.shown


@given(st.text(max_size=40), st.sampled_from(["", "http://", "https://", "http://example.com/", "//", "http:\\\\"]))
def test_no_address_makes_the_check_fail_in_another_way(text: str, start: str) -> None:
    try:
        at = target(start + text, WebRules())
    except ToolFailed as refused:
        said = str(refused)
        event(said.split()[-1])
    else:
        assert at.url.scheme in ("http", "https")
        assert not at.url.userinfo
        assert is_web_port(at.port)


async def test_an_unknown_host_is_told() -> None:
    assert await refusal("http://nowhere.example/") == "no address is known for the host nowhere.example"


async def test_a_server_that_is_not_there_is_told(unused: int) -> None:
    said = await refusal(f"http://127.0.0.1:{unused}/", WebRules((f"127.0.0.1:{unused}",)))
    assert said == "127.0.0.1 cannot be reached"


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(page("<p>direct")) as site, serving(page("<p>proxied")) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        assert "direct" in await fetched(site)
        assert proxy.taken == 0


class TestAllowed:
    async def test_a_host_with_a_port_is_permitted_at_that_port_alone(self) -> None:
        async with serving(page("<p>in")) as site, serving(page("<p>other")) as other:
            assert "in" in await fetched(site)
            assert PRIVATE in await refusal(other.url(), site.rules)

    async def test_a_host_is_permitted_at_the_ports_of_the_web(self) -> None:
        async with serving(page("<p>in")) as site:
            told = await answer(web_fetch(WebRules(("127.0.0.1",))), url=site.url())
            assert "in" in told
        assert "port 22" in await refusal("http://127.0.0.1:22/", WebRules(("127.0.0.1",)))

    async def test_another_spelling_of_a_permitted_host_is_not_permitted(self) -> None:
        async with serving(page("<p>in")) as site:
            for host in ("localhost", "[::ffff:127.0.0.1]", "127.0.0.2"):
                assert PRIVATE in await refusal(site.url("/", host), site.rules, resolving(localhost=["127.0.0.1"]))

    @pytest.mark.parametrize(
        ("entry", "kept"),
        [
            (" Wiki.Example ", "wiki.example"),
            ("wiki.example.:8080", "wiki.example:8080"),
            ("[::1]:80", "[::1]:80"),
            ("[0:0::1]", "[::1]"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("10.0.0.1:22", "10.0.0.1:22"),
        ],
    )
    def test_an_entry_is_kept_in_one_form(self, entry: str, kept: str) -> None:
        assert WebRules((entry,)).allow == (kept,)

    @pytest.mark.parametrize(
        "entry",
        [
            "",
            "http://wiki.example",
            "*.example",
            "wiki.example/path",
            "a:b",
            "a:0",
            "a:70000",
            "::1",
            "a b",
            "10.1",
            "user@host",
            "10.0.0.0/8",
            "[::1",
            "[nonsense]",
        ],
    )
    def test_an_entry_that_is_no_host_is_refused_in_one_sentence(self, entry: str) -> None:
        with pytest.raises(ConfigError, match=r"^web\.allow: .* is no host and no host:port; write .*8080$"):
            WebRules((entry,))


@pytest.fixture
def unused() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


async def test_a_call_that_is_cancelled_leaves_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    async def hang(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>begun")
        await writer.drain()
        await asyncio.sleep(60)

    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    for writing in (hang, silent):
        async with serving(writing) as site:
            before = asyncio.all_tasks()
            call = asyncio.create_task(fetched(site))
            while not site.heads:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            left = {task for task in asyncio.all_tasks() - before if "Site.answer" not in repr(task)}
            assert not left
            gc.collect()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_call_that_is_cancelled_in_the_handshake_closes_its_connection() -> None:
    gone = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        begun.set()
        while await reader.read(4096):
            pass
        gone.set()
        writer.close()

    begun = asyncio.Event()
    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rules = WebRules((f"127.0.0.1:{port}",))
    call = asyncio.create_task(answer(web_fetch(rules), url=f"https://127.0.0.1:{port}/"))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(gone.wait(), 5)
    server.close()
