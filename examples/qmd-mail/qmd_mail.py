"""E-mails (.eml) for qmd."""

from email import message_from_bytes, policy

from qmd.types import Extracted

name = "mail"
version = 1
media_type = "text/markdown"


def extract(file):
    message = message_from_bytes(file.data, policy=policy.default)
    subject = str(message["subject"] or "")
    body = message.get_body(("plain",))
    fields = {
        "author": _names(message["from"]),
        "to": _names(message["to"]),
        "attachment": tuple(part.get_filename() or "unnamed" for part in message.iter_attachments()),
    }
    if message["date"] and message["date"].datetime:
        fields["date"] = (message["date"].datetime.isoformat(),)
    text = body.get_content() if body else ""
    return Extracted(text=f"# {subject}\n\n{text}", title=subject, fields=fields)


def _names(header):
    return tuple(each.display_name or each.addr_spec for each in header.addresses) if header else ()
