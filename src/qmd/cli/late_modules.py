"""Imports msgspec without modules that it imports with itself and that most commands never use."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, cast


class Late(ModuleType):
    """A module that is imported when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def import_msgspec() -> None:
    """Import msgspec; its reader of types and what that is made from wait until somebody asks for them."""
    if "msgspec" in sys.modules:
        return
    for name in ("msgspec.inspect", "msgspec.toml", "msgspec.yaml", "textwrap"):
        sys.modules.setdefault(name, Late(name))
    # `typing` has all that it uses of typing_extensions in every Python that runs this program.
    absent = {"typing_extensions": cast("ModuleType", None)}  # importing it fails
    if sys.platform != "win32":
        # Of `platform`, which compiles eleven patterns, `uuid` asks for the name of the system.
        absent["platform"] = Late("platform")
        absent["platform"].__dict__["system"] = lambda: os.uname().sysname
    absent = {name: module for name, module in absent.items() if name not in sys.modules}
    sys.modules.update(absent)
    try:
        import msgspec  # noqa: F401
    finally:
        for name in absent:
            del sys.modules[name]
