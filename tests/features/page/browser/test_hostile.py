"""Hostile notes in a real browser: they run nothing, load nothing and do not break the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.clients import Server, server_of
from tests.features.page.browser.conftest import watched
from tests.users import MakeUser

#: HTML and addresses that run code if a page does not escape them.
HTML = (
    "<script>alert(1)</script>",
    "<ScRiPt src=//example.org/x.js></ScRiPt>",
    "<img src=x onerror=alert(1)>",
    '<img src="x"onerror="alert(1)">',
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text y=20>click</text></a></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)>",
    "<object data=javascript:alert(1)>",
    "<embed src=javascript:alert(1)>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<video><source onerror=alert(1)></video>",
    "<input autofocus onfocus=alert(1)>",
    "<form action=javascript:alert(1)><button>go</button></form>",
    "<base href=https://example.org/>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<style>@import 'https://example.org/x.css'; body{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "</title></textarea></style></noscript></template><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    '"><script>alert(1)</script>',
    "'><script>alert(1)</script>",
    "'\" autofocus onfocus=alert(1) x='",
    '<a href="javascript:alert(1)">click</a>',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    "<img src=x id=q name=q>",
    "<template><script>alert(1)</script></template>",
    "<x onclick=alert(1) contenteditable autofocus onfocus=alert(1) tabindex=1>",
    "{{ 7 * 7 }}{% raw %}${alert(1)}<%= 7 %>",
    "\u003cscript\u003ealert(1)\u003c/script\u003e",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
)
MARKDOWN = (
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](&#x6A&#x61&#x76&#x61script:alert(1))",
    "[a](javascript&colon;alert(1))",
    "[a](java%0ascript:alert(1))",
    "[a](\x01javascript:alert(1))",
    "[a](vbscript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[a](<javascript:alert(1)>)",
    "[a]( javascript:alert(1) 'title\" onclick=alert(1)')",
    "[a](https://example.org 'x\" onmouseover=\"alert(1)')",
    "![a](javascript:alert(1))",
    '![a" onerror="alert(1)](x.png)',
    '![a](x.png"onerror="alert(1))',
    "![a](https://example.org/track.png)",
    "![a](//example.org/track.png)",
    "![a](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![[https://example.org/track.png]]",
    "![[../../secret.png]]",
    "<javascript:alert(1)>",
    '<https://example.org/"onclick=alert(1)>',
    "[ref]\n\n[ref]: javascript:alert(1)",
    "[[javascript:alert(1)]]",
    "[[x|<img src=x onerror=alert(1)>]]",
    '[["><script>alert(1)</script>]]',
    '```"><script>alert(1)</script>\ncode\n```',
    "```html\n<script>alert(1)</script>\n```",
    "`<script>alert(1)</script>`",
    "$<script>alert(1)</script>$",
    "$$\n<img src=x onerror=alert(1)>\n$$",
    "==<script>alert(1)</script>==",
    '> [!note" onclick=alert(1)] <img src=x onerror=alert(1)>\n> text',
    '[^"><script>alert(1)</script>]\n\n[^"><script>alert(1)</script>]: x',
    '#tag"><script>alert(1)</script>',
    "| <script>alert(1)</script> | [a](javascript:alert(1)) |\n|---|---|\n"
    "| <img src=x onerror=alert(1)> | x |",
    "# <script>alert(1)</script> {#x onclick=alert(1)}",
    "- [ ] <img src=x onerror=alert(1)>",
    "[a](qmd://evil/../../etc/passwd)",
    "[a](/sign-out)",
    "[a](file:///etc/passwd)",
    "<!-- <script>alert(1)</script> -->",
    "%% <script>alert(1)</script> %%",
)


def notes() -> dict[str, str]:
    """Return a note for each vector, in its text, title and fields, and notes whose names are vectors."""
    found: dict[str, str] = {}
    for number, vector in enumerate((*HTML, *MARKDOWN)):
        line = json.dumps(" ".join(vector.split()))
        found[f"{number}.md"] = (
            f"---\ntitle: {line}\ntags: [{line}, attack]\nauthor: {line}\nstatus: {line}\n"
            f"{line}: {line}\n---\n\n"
            f"hostile before {vector}\n\n{vector}\n\n- {vector}\n\n## hostile {vector}\n\nhostile after.\n"
        )
    for number, vector in enumerate(HTML):
        name = vector.replace("/", "").replace("\0", "")[:80]
        found[f"{number} {name}.md"] = f"# named {vector}\n\nhostile {vector}\n"
    return found


@pytest.fixture(scope="module")
def server(make_user: MakeUser) -> Iterator[Server]:
    user = make_user("hostile")
    folder = user.home / "evil"
    folder.mkdir()
    for name, text in notes().items():
        (folder / name).write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "evil <img src=x onerror=alert(1)>")
    user.ok("context", "add", str(folder), "<script>alert(1)</script>")
    with server_of(user) as server:
        yield server


#: Looks for everything that the browser would run: handlers, foreign scripts and addresses of code.
_LOOK = """() => {
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith('on')) found.push(`${element.tagName} ${name}`);
      if (['href', 'src', 'action', 'xlink:href', 'formaction'].includes(name)) {
        const scheme = new URL(value, location).protocol;
        if (!['http:', 'https:', 'mailto:', 'vscode:'].includes(scheme)) found.push(`${name} ${value}`);
      }
    }
    const tag = element.tagName.toLowerCase();
    if (tag === 'script' && !element.src.startsWith(location.origin + '/assets/')) found.push('script');
    if (['iframe', 'object', 'embed', 'base', 'style'].includes(tag)) found.push(tag);
  }
  return found;
}"""


def test_hostile_notes_run_nothing_and_violate_no_policy(browser: Browser, server: Server) -> None:
    with watched(browser, server) as (context, complaints):
        page = context.new_page()
        paths = [
            f"/read/evil%20%3Cimg%20src=x%20onerror=alert(1)%3E/{quote(name)}?q=hostile" for name in notes()
        ]
        for path in paths:
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == 200, path
            assert page.evaluate(_LOOK) == [], path
            assert complaints == [], path
        for more in (paths[0] + "&view=source", paths[5] + "&view=source"):
            page.goto(more)
            assert page.evaluate(_LOOK) == []
        assert complaints == []


def test_hostile_notes_run_nothing_in_lists_and_messages(browser: Browser, server: Server) -> None:
    searches = [
        "hostile",
        "hostile <script>alert(1)</script>",
        "named",
        "tag:attack",
        *HTML[:6],
        *MARKDOWN[:3],
    ]
    paths = ["/", "/upkeep", *(f"/?q={quote(query)}&mode=words&n=200&scores=1" for query in searches)]
    paths += [
        f"/?q={quote(f'[{vector}:x]')}&mode=words" for vector in ("status", "<img src=x onerror=alert(1)>")
    ]
    paths += [f"/why?q={quote(HTML[2])}&doc=0.md&mode=words"]
    with watched(browser, server) as (context, complaints):
        page = context.new_page()
        for path in paths:
            page.goto(path)
            assert page.evaluate(_LOOK) == [], path
        page.goto("/")
        page.locator("#q").press_sequentially("<img src=x onerror=alert(1)> hostile")
        page.locator("#hits li").first.wait_for()
        page.locator("#facets[data-filled]").wait_for(state="attached")
        assert page.evaluate(_LOOK) == []
        assert complaints == []


def test_error_pages_escape_the_address(browser: Browser, server: Server) -> None:
    with watched(browser, server) as (context, complaints):
        page = context.new_page()
        for path in (
            f"/read/{quote(HTML[2])}",
            f"/read/0.md?line={quote(HTML[0])}",
            f"/file/{quote(HTML[1])}.png",
        ):
            page.goto(path)
            assert page.evaluate(_LOOK) == []
        # The browser itself reports the statuses 404 and 400 of these pages.
        assert [each for each in complaints if "Failed to load resource" not in each] == []
