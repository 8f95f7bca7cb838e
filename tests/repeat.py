"""A pytest plugin that repeats failed tests: `-p tests.repeat`.

Each failed test runs once more, alone in a process of its own. If all pass, the run passes, and they are
listed as flaky: they depend on something besides the program, such as the order of events.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

#: If more tests fail than this, something is broken, so none is repeated.
MOST = 10


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Repeat the failed tests, and let the run pass if they pass."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or hasattr(session.config, "workerinput"):
        return
    reports = [*terminal.stats.get("failed", ()), *terminal.stats.get("error", ())]
    # pytest-xdist appends the group to the name of a test.
    failed = sorted({re.sub(r"@[\w.]+$", "", report.nodeid) for report in reports})
    flaky = []
    if exitstatus == pytest.ExitCode.TESTS_FAILED and len(failed) <= MOST:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--numprocesses", "0"]
        flaky = [test for test in failed if subprocess.run([*command, test]).returncode == 0]
        if flaky == failed:
            session.exitstatus = pytest.ExitCode.OK
    terminal.write_sep("=", f"flaky: {len(flaky)}")
    for test in flaky:
        terminal.write_line(test)
