"""A format for the child process that recognizes texts: it lists the pages of a file, and reads one of them.

Without a request beside the file, its text is a JSON object of the pages without text: numbers, from 1, with
hashes. With the number of a page beside it, its text is that of the page.
"""

from __future__ import annotations

import os
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from qmd.features.ocr.layout import PrintedLine, is_unknown, text_of
from qmd.sources.formats.base import DAMAGED, TOO_LARGE, RawFile, Unreadable
from qmd.text.digest import sha256
from qmd.types import Extracted

if TYPE_CHECKING:
    from PIL.Image import Image

name = "page"
version = 1
media_type = "text/plain"

#: The longest side in which a page is read, the most pixels of a picture, and the shortest side with text.
_SIDE, _PIXELS, _LEAST = 2_000, 120_000_000, 12
#: Why a page of another script has no text.
UNKNOWN_SCRIPT = "its letters cannot be recognized"
#: The most pages of a file, and the least confidence in a line, and in a page that stands upright.
_MOST, _CONFIDENCE, _TRUSTED = 5_000, 0.5, 0.8


def extract(file: RawFile) -> Extracted:
    is_pdf = file.path.lower().endswith(".pdf")
    if not file.beside:
        hashes = _pdf_pages(file.data) if is_pdf else _frames(file.data)
        return Extracted(encode(hashes).decode(), "")
    number = int(file.beside)
    return Extracted(_recognized(_drawn(file.data, number) if is_pdf else _frame(file.data, number)), "")


def _pdf_pages(data: bytes) -> dict[int, str]:
    from pypdfium2 import PdfDocument, PdfiumError

    from qmd.features.formats.pdf import read_page

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        raise Unreadable(DAMAGED, str(error)) from error
    found = {}
    for number in range(min(len(document), _MOST)):
        try:
            if not read_page(document, number).lines:
                picture = _draw(document, number)
                found[number + 1] = sha256(f"{picture.size}".encode() + picture.tobytes())
        except PdfiumError:
            continue  # the reader of PDF says which pages are damaged
    return found


def _drawn(data: bytes, number: int) -> Image:
    from pypdfium2 import PdfDocument

    return _draw(PdfDocument(data), number - 1)


def _draw(document: Any, number: int) -> Image:
    page = document[number]
    picture: Image = page.render(scale=_SIDE / max(*page.get_size(), 1.0), grayscale=True).to_pil()
    page.close()
    return picture


def _frames(data: bytes) -> dict[int, str]:
    digest = sha256(data)
    with _opened(data) as picture:
        return {number: f"{digest}:{number}" for number in range(1, min(_count(picture), _MOST) + 1)}


def _frame(data: bytes, number: int) -> Image:
    from PIL import ImageOps

    with _opened(data) as picture:
        picture.seek(number - 1)
        picture.thumbnail((_SIDE, _SIDE))
        return ImageOps.exif_transpose(picture).convert("RGBA")


def _opened(data: bytes) -> Image:
    from PIL import Image

    try:
        picture = Image.open(BytesIO(data), formats=("PNG", "JPEG", "WEBP", "TIFF"))
    except OSError as error:
        raise Unreadable(DAMAGED, str(error)) from error
    if picture.width * picture.height > _PIXELS:
        raise Unreadable(TOO_LARGE, f"{picture.width:,} x {picture.height:,} pixels")
    return picture


def _count(picture: Image) -> int:
    # The frames of an animation show much of the same.
    return int(getattr(picture, "n_frames", 1)) if picture.format == "TIFF" else 1


def _recognized(picture: Image) -> str:
    from PIL import Image

    if picture.mode == "RGBA":
        paper = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(paper, picture)
    grey = picture.convert("L")
    darkest, lightest = grey.getextrema()
    if min(grey.size) < _LEAST or darkest == lightest:
        return ""
    page = grey.convert("RGB")
    lines, trust = _read(page)
    if sum(line.height > line.right - line.left for line in lines) > len(lines) / 2:
        page = page.transpose(Image.Transpose.ROTATE_90)
        lines, trust = _read(page)
    if lines and trust < _TRUSTED:
        turned, better = _read(page.transpose(Image.Transpose.ROTATE_180))
        lines = turned if better > trust else lines
    if is_unknown(lines):
        raise Unreadable(UNKNOWN_SCRIPT)
    return text_of(lines)


def _read(page: Image) -> tuple[list[PrintedLine], float]:
    """Return the lines of a page, and the confidence in their characters, which is low upside down.

    The model that tells of each line whether it is upside down is not asked, because it is wrong too often.
    """
    import numpy as np

    found = _engine()(np.asarray(page))
    if found.txts is None:
        return [], 0.0
    lines = []
    for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
        if score >= _CONFIDENCE and text.strip():
            (left, top), (right, bottom) = box.min(axis=0).tolist(), box.max(axis=0).tolist()
            lines.append(PrintedLine(left, top, right, bottom, text.strip()))
    return lines, float(np.average(found.scores, weights=[*map(len, found.txts)]))


@cache
def _engine() -> Any:
    """Return the engine, which uses one processor and the models of its own package."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import cv2
    from rapidocr import RapidOCR

    cv2.setNumThreads(1)
    threads = {f"EngineConfig.onnxruntime.{name}_op_num_threads": 1 for name in ("intra", "inter")}
    options = {"log_level": "critical", "use_cls": False, "text_score": 0.0}
    return RapidOCR(params={**threads, **{f"Global.{name}": value for name, value in options.items()}})
