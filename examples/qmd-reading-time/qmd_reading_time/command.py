"""`reading-time`: say how long a document takes to read."""

from qmd.cli.command import command
from qmd.cli.options import argument, chosen_format, json_option
from qmd.cli.show import show_json
from qmd.cli.terminal import write


@command("reading-time", agents=True)
@argument("document", "DOC")
@json_option
def reading_time(session, document):
    """Say how many minutes a document takes to read.

    Example:
      qmd reading-time notes/plan.md
    """
    minutes = session.index.reading_time(document)
    if chosen_format() == "json":
        show_json({"document": document, "minutes": minutes})
    else:
        write(f"{minutes} min\n")
