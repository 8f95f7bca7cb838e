"""Packages with plugins, as an installer writes them."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, package: str, group: str, parts: dict[str, str], code: str) -> Path:
    """Write a package with one module into a folder for PYTHONPATH. `parts` are its entry points by name."""
    module = package.replace("-", "_")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = [f"[{group}]", *(f"{name} = {module}{attribute}" for name, attribute in parts.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    return folder
