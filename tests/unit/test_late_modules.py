"""What msgspec imports with itself waits until somebody asks for it, and then is whole."""

from __future__ import annotations

import subprocess
import sys

_CODE = """
import sys
from qmd.cli.late_modules import import_msgspec
import_msgspec()
assert "platform" not in sys.modules and "typing_extensions" not in sys.modules
assert not hasattr(sys.modules["textwrap"], "__file__")
import msgspec, platform, textwrap, typing_extensions, uuid
class Note(msgspec.Struct):
    title: str
    id: uuid.UUID
assert textwrap.dedent("  a") == "a" and platform.system() and platform.python_version()
kind = msgspec.inspect.type_info(Note)
assert isinstance(kind, msgspec.inspect.StructType)
assert [type(each.type) for each in kind.fields] == [msgspec.inspect.StrType, msgspec.inspect.UUIDType]
assert msgspec.json.schema(Note)["$defs"]["Note"]["required"] == ["title", "id"]
assert msgspec.toml.decode("a = 1") == {"a": 1}
note = Note("a", uuid.UUID(int=1))
assert msgspec.json.decode(msgspec.json.encode(note), type=Note) == note
"""


def test_late_modules_are_whole_when_they_are_asked_for() -> None:
    subprocess.run([sys.executable, "-c", _CODE], check=True)
