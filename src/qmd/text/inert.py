"""Make texts of documents safe for agents: they end no element, and have no special tokens of models.

Language models take some sequences of characters for a change of the speaker: `<|im_end|>`, `[INST]`, `<s>`.
A program that does not keep them apart from text reads them as such, wherever a document has them.
"""

from __future__ import annotations

from qmd.text.regex import lazy
from qmd.text.uris import to_uri
from qmd.text.wording import visible

#: The beginnings of special tokens of models, and of elements that agents read as said by their own program.
_TOKEN = lazy(
    r"<(?=[|｜]|<SYS>>|</?SYS>>|/?(?:s|bos|eos|pad|unk|mask|sep|cls|think|tool_\w{1,20}|tools?|function_\w{1,20}"
    r"|invoke|antml:\w{1,20}|(?:start|end|begin)_of_\w{1,20}|(?:BOS|EOS|START|END)\w{0,20}_TOKEN|system\w{0,4}"
    r"|system-reminder|user|assistant|human|instructions?|qmd-notes|reserved_\w{1,20}|unused\d{1,4})\s{0,4}/?>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|SYS|THINK|ARGS|CALL_ID)\])"
)
#: The beginning of any tag.
_TAG = lazy(r"<(?=[A-Za-z/!?])")
_HARMLESS = {"<": "&lt;", "[": "&#91;"}


def inert(text: str, *, tags: bool = False) -> str:
    """Return a text in which special tokens of models, and with `tags` all tags, are escaped as in HTML."""
    text = _TOKEN.sub(lambda match: _HARMLESS[match[0]], text) if "<" in text or "[" in text else text
    return _TAG.sub("&lt;", text) if tags else text


def escaped(text: str) -> str:
    """Return a text with its lines, in which control characters and tokens of models are escaped."""
    return inert("\n".join(visible(line.replace("\t", "    ")) for line in text.split("\n")))


def inert_address(address: str, *, tags: bool = False) -> str:
    """Return the address of a document as `get` takes it, with `qmd://` and percent signs if it is escaped.

    A place, as in `notes/a.md:12-30`, stays behind it.
    """
    if inert(address, tags=tags) == address:
        return address
    file, colon, place = address.rpartition(":")
    named = bool(colon) and "/" not in place and place[:1].isalnum() and "<" not in place and "[" not in place
    return f"{to_uri(file)}:{place}" if named else to_uri(address)
