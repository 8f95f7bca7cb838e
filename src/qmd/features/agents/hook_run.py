"""`hook run`: what an agent calls at events of a session. It answers, or says nothing.

An agent takes a hook that fails for an order to stop. So whatever happens, the exit code is 0, and a line in
a log says what did not work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qmd.cli.command import command
from qmd.cli.console import current
from qmd.cli.hook_limit import SECONDS, log
from qmd.cli.options import argument, decimal, flag, option
from qmd.cli.terminal import write
from qmd.cli.usage import NotInServerError
from qmd.errors import QmdError

if TYPE_CHECKING:
    from qmd.cli.session import Session


@command("run")
@argument("event", "EVENT")
@option("--target T", None, "The agent that calls.  [default: claude]", default="claude")
@flag("--server", "starts_server", help="Start a server in the background if none runs.")
@option(
    "--timeout S",
    decimal(0.001, 600),
    f"Say nothing after S seconds.  [default: {SECONDS}]",
)
def run(session: Session, event: str, target: str, starts_server: bool, timeout: float | None) -> None:
    """Answer an event of an agent, whose JSON is on stdin: session, prompt or compact.

    It says nothing if nothing is about the prompt, and if it fails: then 'qmd hook status' says why.

    Example:
      echo '{"session_id": "1", "prompt": "How are backups restored?"}' | qmd hook run prompt
    """
    from qmd.features.agents.hook_event import MAX_INPUT, answer

    data = current().read(MAX_INPUT + 1)
    session.quiet = session.agent = True
    try:
        text = answer(session, event, target, data, starts_server=starts_server)
    except NotInServerError:  # not for a server
        raise
    except Exception as error:  # noqa: BLE001 - it must not disturb the agent
        reason = error.in_one_line() if isinstance(error, QmdError) else f"{type(error).__name__}: {error}"
        log(current().environ, f"{event} {target}: {reason}")
    else:
        write(text)
