"""Host, Origin and the size of the body are checked first, at every path.

The rules for hosts and origins are in tests/server/test_host_check.py.
"""

from __future__ import annotations

import gzip
import json
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack

import pytest

from tests.clients import Client, server_of
from tests.edge.http.test_errors import raw
from tests.users import User
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

PLACES = [("GET", "/health"), ("GET", "/status"), ("POST", "/search"), ("POST", "/mcp"), ("GET", "/docs")]


def test_foreign_host_and_origin_are_refused_at_every_path(client: Client) -> None:
    for method, path in PLACES:
        assert client.ask(method, path, host="evil.example").detail(403).startswith("Host is not allowed")
        assert client.ask(method, path, origin="null").detail(403).startswith("Origin is not allowed")
    ours = client.ask("GET", "/status", host="[::1]:18765", origin="http://127.0.0.1:6274")
    assert ours.status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_only_lead_to_pages(client: Client, site: str) -> None:
    image = {"sec_fetch_site": site, "sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"}
    frame = image | {"sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}
    link = image | {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    pages = ["/", "/?q=x&mode=both", "/read/n/a.md", "/help", "/upkeep", "/docs"]
    others = [
        "/status",
        "/fields",
        "/documents/n/a.md/similar",
        "/similar/n/a.md",
        "/why?q=x&doc=n/a.md&mode=both",
    ]
    others += ["/complete?q=x", "/file/n/a.md", "/upkeep/doctor", "/openapi.json", "/metrics", "/health"]
    for path in [*pages, *others]:
        for headers in (image, frame):
            assert "Origin is not allowed" in client.ask("GET", path, **headers).detail(403), path
    for path in others:
        assert client.ask("GET", path, **link).status == 403, path
    for path in ("/lint", "/search", "/upkeep/scan", "/sign-in", "/"):
        assert client.ask("POST", path, {}, **link).status == 403, path
    for path in pages:
        assert client.ask("GET", path, **link).status in (200, 404), path
    for other in ("same-origin", "none"):
        assert client.ask("GET", "/status", **(link | {"sec_fetch_site": other})).status == 200


def test_link_of_another_site_searches_by_words_alone(client: Client) -> None:
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    path = "/?q=kestrel&mode={}&scores=1"
    words, both = (client.ask("GET", path.format(mode)).text for mode in ("words", "both"))
    assert words != both
    assert client.ask("GET", path.format("both"), **link).text == words


def test_what_reads_everything_is_asked_by_post(client: Client) -> None:
    assert client.ask("GET", "/lint").status == 405
    assert client.ask("GET", "/upkeep/doctor").status == 405
    assert "faults" in client.ask("POST", "/lint", {}).json


def test_environment_allows_additional_hosts_and_origins(host_reader: User) -> None:
    allowed = {"QMD_ALLOWED_HOSTS": "box.lan", "QMD_ALLOWED_ORIGINS": "https://app.example"}
    with server_of(host_reader, **allowed) as server:
        assert server.ask("GET", "/status", host="box.lan:80").status == 200
        for site in ({}, {"sec_fetch_site": "cross-site"}):
            assert server.ask("GET", "/status", origin="https://app.example", **site).status == 200
        assert server.ask("GET", "/status", host="other.lan").status == 403
        assert server.ask("GET", "/status", origin="https://other.example").status == 403


def test_allowed_origins_may_read_answers_with_a_key(host_reader: User) -> None:
    page = "https://app.example"
    preflight = {
        "origin": page,
        "access_control_request_method": "POST",
        "access_control_request_headers": "authorization, content-type",
    }
    with server_of(host_reader, QMD_ALLOWED_ORIGINS=page) as server:
        for path in ("/search", "/mcp"):
            asked = server.ask("OPTIONS", path, **preflight)
            assert asked.status == 200
            assert asked.headers["access-control-allow-origin"] == page
            assert "POST" in asked.headers["access-control-allow-methods"]
            assert "authorization" in asked.headers["access-control-allow-headers"]
        answer = server.ask("POST", "/search", {"query": "plan"}, origin=page)
        assert answer.headers["access-control-allow-origin"] == page
        assert "access-control-allow-credentials" not in answer.headers
        assert "access-control-allow-origin" not in server.ask("GET", "/status").headers
        ours = server.ask("GET", "/status", origin=f"http://127.0.0.1:{server.port}")
        assert "access-control-allow-origin" not in ours.headers
        assert (
            server.ask("OPTIONS", "/search", **preflight | {"origin": "https://evil.example"}).status == 403
        )


def test_long_answers_are_compressed_for_clients_that_accept_it(client: Client) -> None:
    fields = {"file": "notes/big.md"}
    plain = client.ask("POST", "/get", fields)
    assert "content-encoding" not in plain.headers
    small = client.ask("POST", "/get", fields, accept_encoding="gzip")
    assert small.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in small.headers["vary"].lower()
    assert gzip.decompress(small.body) == plain.body
    assert "content-encoding" not in client.ask("GET", "/health", accept_encoding="gzip").headers


@pytest.mark.parametrize("path", ["/search", "/mcp", "/nothing"])
def test_large_body_is_refused(client: Client, path: str) -> None:
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    told = raw(client, f"{head}content-length: 10000001\r\n\r\n".encode())
    assert told.detail(413) == "The body is larger than 10,000,000 bytes"


def test_clients_can_read_the_error_for_a_large_body(client: Client) -> None:
    for size in (10_000_001, 60_000_000):
        request = urllib.request.Request(
            f"http://127.0.0.1:{client.port}/search",
            data=b" " * size,
            headers={"content-type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=PATIENCE)
        with refused.value as answer:
            assert answer.code == 413
            assert json.load(answer)["detail"] == "The body is larger than 10,000,000 bytes"


def test_expect_continue_with_a_large_body_is_refused_immediately(client: Client) -> None:
    head = b"POST /search HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n"
    told = raw(client, head + b"content-length: 10000001\r\n\r\n")
    assert told.detail(413) == "The body is larger than 10,000,000 bytes"


def test_body_of_the_maximum_size_is_accepted(client: Client) -> None:
    body = json.dumps({"query": "zebra"}).encode().ljust(10_000_000)
    assert client.ask("POST", "/search", body=body).status == 200
    assert client.ask("POST", "/search", body=body + b" ").status == 413


def test_chunked_body_is_accepted_up_to_the_maximum_size(client: Client) -> None:
    head = (
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
    small = raw(client, head + b'9\r\n{"query":\r\n8\r\n"zebra"}\r\n0\r\n\r\n')
    assert small.json["results"][0]["title"] == "Odd name"
    with socket.create_connection(("127.0.0.1", client.port), PATIENCE) as connection:
        connection.sendall(head)
        try:
            for _ in range(11):
                connection.sendall(b"f4240\r\n" + b" " * 1_000_000 + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            return
        assert connection.makefile("rb").readline().split()[1] == b"413"


def test_incomplete_requests_block_no_other_request(client: Client) -> None:
    halves = [
        b"",
        b"POST /search HT",
        b"POST /search HTTP/1.1\r\nhost: localhost\r\n",
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
    ]
    with ExitStack() as stack:
        for number in range(500):
            connection = socket.create_connection(("127.0.0.1", client.port), PATIENCE)
            stack.enter_context(connection)
            connection.sendall(halves[number % len(halves)])
        assert client.ok("GET", "/health")["status"] == "healthy"
        assert client.post("/search", query="zebra")["results"]
    assert client.ok("GET", "/health")["status"] == "healthy"


def test_disconnecting_clients_do_not_disturb_the_server(client: Client) -> None:
    body = json.dumps({"query": "why"}).encode()
    head = b"POST /query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    for sent in (body, body[:5]):
        with socket.create_connection(("127.0.0.1", client.port), PATIENCE) as connection:
            connection.sendall(head + b"content-length: %d\r\n\r\n%b" % (len(body), sent))
    assert client.ok("GET", "/health")["status"] == "healthy"
