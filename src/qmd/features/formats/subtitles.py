"""Subtitles (`.srt`, `.vtt`): what is said, with the seconds from the beginning as anchors."""

from __future__ import annotations

import re

from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.types import Extracted

name = "subtitles"
version = 2
media_type = "text/plain"

_TIMES = re.compile(r"[ \t]*(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}[ \t]+-->[^\n]*")
#: The head of a file, a style, or a note. Other parts without times go on with what was said before.
_NOT_SAID = re.compile(r"\s*(?:WEBVTT|STYLE|REGION|NOTE)\b")
_BLANK = re.compile(r"\n[ \t]*\n")
_SPEAKER = re.compile(r"<v(?:\.[\w.]+)?[ \t]+([^<>\n]{1,100})>")
_TAG = re.compile(r"</?[a-zA-Z0-9][^<>\n]{0,100}>|\{\\[^{}\n]{1,100}\}")


def extract(file: RawFile) -> Extracted:
    writer = Writer("time")
    last, start, before, found = -1, 0, "", False
    for block in _BLANK.split(file.text()):
        lines = block.strip("\n").split("\n")
        at = next((at for at, line in enumerate(lines[:2]) if _TIMES.match(line)), None)
        if at is not None:
            match, found = _TIMES.match(lines[at]), True
            assert match is not None
            hours, minutes, seconds = (int(part or 0) for part in match.groups())
            start = 3600 * hours + 60 * minutes + seconds
        elif not found or _NOT_SAID.match(block):
            continue
        said = _TAG.sub(
            "", _SPEAKER.sub(r"\1: ", "\n".join(lines if at is None else lines[at + 1 :]))
        ).strip()
        if not said or said == before:
            continue
        if start > last:
            writer.anchor(start, tight=True)
            last = start
        writer.add(said, tight=True)
        before = said
    if not found:
        raise Unreadable(DAMAGED, "no subtitles")
    return Extracted(writer.text, "", anchors=writer.anchors, structure=writer.structure)
