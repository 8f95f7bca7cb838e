"""Every regular expression of the program takes linear time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import pytest

import qmd
from qmd.text.regex import LazyPattern
from tests.regexes import Steps, attacks

pytestmark = pytest.mark.slow
#: The most steps of a character: bounded repetitions can multiply, however linear they are.
MOST = 400


def _patterns() -> Iterator[tuple[str, re.Pattern[str], bool]]:
    """Yield (name, expression, whether it is searched for instead of matched) of all modules."""
    for info in pkgutil.walk_packages(qmd.__path__, "qmd."):
        if info.name.startswith(("qmd.text.", "qmd.sources.", "qmd.features.")) and not info.ispkg:
            module = importlib.import_module(info.name)
            source = inspect.getsource(module)
            for name, value in vars(module).items():
                for number, one in enumerate(value if isinstance(value, tuple) else (value,)):
                    if isinstance(one, LazyPattern):
                        one = one.compiled()
                    if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                        used = set(re.findall(rf"\b{name}\.(\w+)", source))
                        label = f"{info.name}.{name}.{number}"
                        matched = used and used <= {"match", "fullmatch"}
                        yield label, one, not matched


@pytest.mark.parametrize(("pattern", "search"), [pytest.param(p, s, id=n) for n, p, s in _patterns()])
def test_regular_expressions_take_linear_time(pattern: re.Pattern[str], search: bool) -> None:
    steps = Steps(pattern)
    for prefix, part, suffix in attacks(pattern):
        text = prefix + part * 20 + suffix
        once = steps.count(text, search=search)
        assert once <= MOST * len(text), (text, once)
        twice = steps.count(prefix + part * 40 + suffix, search=search)
        assert twice <= 2.5 * once, (prefix, part, suffix, once, twice)
