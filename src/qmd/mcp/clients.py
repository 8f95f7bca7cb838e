"""Clients of MCP: which part of a result they show their model.

The result of a search has its passages as text and as structured content, because most clients show one of
the two: docs/mcp.md lists them. So `maxTokens` counts the part that a model reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, json

from qmd.mcp.tool import Result
from qmd.text import budget

if TYPE_CHECKING:
    from qmd.mcp.sdk_compat import Context


class Client(Struct, frozen=True):
    """A kind of client.

    Attributes:
        name: How the name begins that it gives itself, in lower case, with `-` between words.
        shows: The part of a result that its model reads, if the result has both.
        resources: Whether its model reads embedded resources. Otherwise documents are sent as text.
    """

    name: str
    shows: Literal["text", "structure", "either"]
    resources: bool = True

    def seen(self, result: Result) -> str:
        """Return the part of a result that the model reads, so that its tokens are counted.

        For an unknown client that is the costlier part. A result without structured content counts as JSON,
        because some clients show it so.
        """
        if "structuredContent" not in result:
            # Revision 2026-07-28 has one field more.
            return json.encode({"resultType": "complete", **result}).decode()
        text = "\n".join(block["text"] for block in result["content"])
        structure = json.encode(result["structuredContent"]).decode()
        match self.shows:
            case "text":
                return text
            case "structure":
                return structure
        return max(text, structure, key=budget.count)


#: Clients whose handling of results is known from their source or by measurement. The SDKs for Python and
#: TypeScript give the names of their users, so what is built on them is not known by name.
CLIENTS = (
    Client("claude-code", "structure"),  # 2.1.280: anthropics/claude-code#79944
    Client("codex", "structure"),  # openai/codex at 001cb8e: codex-rs/protocol/src/models.rs
    # microsoft/vscode at 027907c: mcpLanguageModelToolContribution.ts
    Client("visual-studio-code", "structure", resources=False),
    Client("gemini-cli", "text"),  # google-gemini/gemini-cli at 03647aa: packages/core/src/tools/mcp-tool.ts
    Client("zed", "text", resources=False),  # zed-industries/zed at 0040008: context_server_registry.rs
)
UNKNOWN = Client("", "either")


def client_of(ctx: Context) -> Client:
    """Return the client that has sent a request: by the name it gave, or over HTTP by its user agent."""
    known = ctx.session.client_params
    name = known.client_info.name if known is not None else ""
    if not name and ctx.request is not None:
        name = ctx.request.headers.get("user-agent", "")
    written = re.sub(r"[\s_]+", "-", name.strip().lower())
    return next((client for client in CLIENTS if written.startswith(client.name)), UNKNOWN)
