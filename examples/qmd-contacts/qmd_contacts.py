"""Contacts (.vcf) for qmd."""

from qmd.types import Extracted

name = "contact"
version = 1
media_type = "text/markdown"

_FIELDS = {"EMAIL": "email", "TEL": "phone", "ORG": "organization", "CATEGORIES": "tag", "BDAY": "birthday"}


def extract(file):
    full_name, notes, fields = "", [], {}
    # A line that begins with a space continues the line before it.
    for line in file.text().replace("\n ", "").split("\n"):
        key, _, value = line.partition(":")
        key = key.partition(";")[0].upper()
        value = value.replace("\\n", "\n").replace("\\,", ",")
        if key == "FN":
            full_name = value
        elif key == "NOTE":
            notes.append(value)
        elif key in _FIELDS:
            fields[_FIELDS[key]] = (*fields.get(_FIELDS[key], ()), value)
    lines = [f"{key}: {', '.join(values)}" for key, values in fields.items()]
    return Extracted("\n\n".join([f"# {full_name}", "\n".join(lines), *notes]), full_name, fields)
