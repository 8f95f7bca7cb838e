"""Makes what a release consists of, from the metadata of `pyproject.toml`. Used by `release.py`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: The wheels of a Homebrew formula: the system in Ruby, and its tag for pip.
PLATFORMS = {
    ("macos", "arm"): "macosx_14_0_arm64",
    ("linux", "intel"): "manylinux_2_28_x86_64",
    ("linux", "arm"): "manylinux_2_28_aarch64",
}
_FORMULA_PYTHON = "3.13"


@dataclass(frozen=True)
class Release:
    """What the parts are made of: metadata, and the programs and folders of this run."""

    project: Mapping[str, Any]
    own: Mapping[str, Any]
    version: str
    dist: Path
    tools: Path
    work: Path

    @classmethod
    def of(cls, dist: Path, tools: Path, work: Path) -> Release:
        config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        text = (ROOT / "src/qmd/_version.py").read_text(encoding="utf-8")
        version = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]
        own = config["tool"]["qmd"] | addresses((ROOT / "README.md").read_text(encoding="utf-8"))
        return cls(config["project"], own, version, dist, tools, work)

    @property
    def extra(self) -> Path:
        """The folder of everything that is not for the package index."""
        return self.dist / "release"

    @property
    def wheel(self) -> Path:
        return self.dist / f"qmd_python-{self.version}-py3-none-any.whl"

    @property
    def sdist(self) -> Path:
        return self.dist / f"qmd_python-{self.version}.tar.gz"

    def tool(self, name: str, *words: str | Path, **options: Any) -> str:
        """Run a program of the environment of the release, and return what it prints."""
        return run(self.tools / "bin" / name, *words, **options)


def addresses(readme: str) -> dict[str, str]:
    """Return the name in the MCP registry and the repository, "" without one, as the README has them."""
    (name,) = re.findall(r"^<!-- mcp-name: (\S+) -->$", readme, re.MULTILINE)
    (address,) = re.findall(r"^git clone (\S+) qmd", readme, re.MULTILINE)
    return {"mcp-name": name, "repository": address.removesuffix(".git") if "://" in address else ""}


def run(*words: str | Path, **options: Any) -> str:
    """Run a program and return what it prints. If it fails, show that, and end the run."""
    options["env"] = options.get("env", os.environ) | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1"}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT, **options
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def packages(release: Release) -> list[Path]:
    """Build the sdist, and the wheel from it."""
    release.tool("pyproject-build", "--installer", "uv", "--outdir", release.dist)
    return [release.wheel, release.sdist]


def sbom(release: Release) -> list[Path]:
    """List what an installation without extras consists of: CycloneDX, from a fresh environment."""
    venv = release.work / "core"
    release.tool("uv", "venv", "--quiet", "--python", sys.executable, venv)
    release.tool("uv", "pip", "install", "--quiet", "--python", venv / "bin" / "python", release.wheel)
    file = release.extra / f"qmd-python-{release.version}.cdx.json"
    words = ("--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "--validate")
    release.tool("cyclonedx-py", "environment", venv, *words, "--output-file", file)
    listed = json.loads(file.read_text(encoding="utf-8"))
    listed["metadata"]["component"]["version"] = (
        release.version
    )  # which pyproject.toml leaves to another file
    file.write_bytes(as_json(listed))
    return [file]


def bundle(release: Release) -> list[Path]:
    """Pack the MCP bundle: manifest and server of integrations/mcpb, and the wheel, which uv installs."""
    source, project = ROOT / "integrations" / "mcpb", release.project
    manifest = json.loads((source / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {
        "version": release.version,
        "description": release.own["summary"],
        "author": project["authors"][0],
        "license": project["license"],
        "keywords": project["keywords"],
    }
    manifest["compatibility"]["runtimes"]["python"] = project["requires-python"]
    lines = (
        "[project]",
        'name = "qmd-bundle"',
        f'version = "{release.version}"',
        f'requires-python = "{project["requires-python"]}"',
        f'dependencies = ["{project["name"]}=={release.version}"]',
        "",
        "[tool.uv.sources]",
        f'{project["name"]} = {{ path = "{release.wheel.name}" }}',
        "",
    )
    files = {
        "manifest.json": as_json(manifest),
        "pyproject.toml": "\n".join(lines).encode(),
        "server.py": (source / "server.py").read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        release.wheel.name: release.wheel.read_bytes(),
    }
    return [_zip(release.extra / f"qmd-{release.version}.mcpb", files)]


def plugin(release: Release) -> list[Path]:
    """Pack the Claude plugin with its version."""
    folder = ROOT / "integrations" / "claude"
    files = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    for file in sorted(folder.rglob("*")):
        if file.is_file():  # the skill is a link to that of the repository
            files[file.relative_to(folder).as_posix()] = file.read_bytes()
    manifest = json.loads(files[".claude-plugin/plugin.json"])
    files[".claude-plugin/plugin.json"] = as_json(manifest | {"version": release.version})
    return [_zip(release.extra / f"qmd-claude-plugin-{release.version}.zip", files)]


def server_json(release: Release) -> list[Path]:
    """Describe the server for the MCP registry: the package, and the bundle if it has an address."""
    own, repository = release.own, release.own["repository"]
    stdio = {"transport": {"type": "stdio"}}
    package = {
        "registryType": "pypi",
        "identifier": release.project["name"],
        "version": release.version,
        "runtimeHint": "uvx",
        "packageArguments": [{"type": "positional", "value": "mcp"}],
    }
    described: dict[str, Any] = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": own["mcp-name"],
        "title": "qmd",
        "description": own["summary"],
        "version": release.version,
        "packages": [package | stdio],
    }
    if repository:
        (packed,) = release.extra.glob("*.mcpb")
        address = f"{repository}/releases/download/v{release.version}/{packed.name}"
        described["repository"] = {"url": repository, "source": "github"}
        described["packages"].append(
            {"registryType": "mcpb", "identifier": address, "fileSha256": sha256(packed)} | stdio
        )
    file = release.extra / "server.json"
    file.write_bytes(as_json(described))
    return [file]


def formula(release: Release) -> list[Path]:
    """Write the Homebrew formula of a tap, with the wheels that pip chooses for each system."""
    by_system = {system: _wheels(release, tag) for system, tag in PLATFORMS.items()}
    everywhere = set.intersection(*map(set, by_system.values()))
    # Without an address the formula installs the sdist that lies here.
    repository = release.own["repository"]
    address = (
        f"{repository}/releases/download/v{release.version}/{release.sdist.name}"
        if repository
        else release.sdist.resolve().as_uri()
    )
    lines = [
        "# Made by tools/release.py.",
        "class Qmd < Formula",
        f'  desc "{release.own["summary"].rstrip(".")}"',
        f'  homepage "{repository or "https://example.invalid"}"',
        f'  url "{address}"',
        f'  sha256 "{sha256(release.sdist)}"',
        f'  license "{release.project["license"]}"',
        "",
        f'  depends_on "python@{_FORMULA_PYTHON}"',
        "",
        *_resources(sorted(everywhere), "  "),
    ]
    for (system, processor), wheels in by_system.items():
        lines += [f"  on_{system} do", f"    on_{processor} do"]
        lines += [*_resources(sorted(set(wheels) - everywhere), "      ")[:-1], "    end", "  end", ""]
    lines += _INSTALL.replace("PYTHON", _FORMULA_PYTHON).splitlines()
    file = release.extra / "qmd.rb"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [file]


_INSTALL = """\
  def install
    resources.each { |wheel| wheel.stage { (buildpath/"wheels").install Dir["*.whl"] } }
    python = "pythonPYTHON"
    system python, "-m", "venv", "--without-pip", libexec
    pip = [python, "-m", "pip", "--python=#{libexec}/bin/python", "install", "--no-index", "--no-deps"]
    system(*pip, *Dir[buildpath/"wheels/*.whl"])
    system(*pip, "--no-build-isolation", "--find-links=#{buildpath}/wheels", buildpath)
    bin.install_symlink libexec/"bin/qmd"
  end

  test do
    (testpath/"notes/a.md").write "# Backups\\n\\nKept for thirty days.\\n"
    system bin/"qmd", "add", testpath/"notes"
    assert_match "notes/a.md", shell_output("#{bin}/qmd search backups --files")
  end
end"""


def _wheels(release: Release, tag: str) -> list[tuple[str, str, str]]:
    """Return the name, address and SHA-256 of every wheel that pip would install on a system."""
    file = release.work / f"{tag}.json"
    # The addresses must be those that everybody has, not of a folder or a mirror of this machine.
    own = {"PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"}
    environ = {name: value for name, value in os.environ.items() if name not in own}
    environ["PIP_CONFIG_FILE"] = os.devnull
    chosen = ("--platform", tag, "--platform", re.sub(r"_2_28_", "2014_", tag), "--only-binary=:all:")
    where = ("--target", release.work / "nowhere", "--python-version", _FORMULA_PYTHON, "--ignore-installed")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", file)
    run(*pip, *chosen, *where, "hatchling", *_needed(release, tag), env=environ)
    found = json.loads(file.read_text(encoding="utf-8"))["install"]
    return [
        (
            each["metadata"]["name"],
            each["download_info"]["url"],
            each["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for each in found
    ]


def _needed(release: Release, tag: str) -> list[str]:
    """Return the dependencies of a system. pip evaluates their conditions for that on which it runs."""
    from packaging.requirements import Requirement

    mac = tag.startswith("macosx")
    system = {
        "sys_platform": "darwin" if mac else "linux",
        "platform_system": "Darwin" if mac else "Linux",
        "platform_machine": next(name for name in ("arm64", "aarch64", "x86_64") if tag.endswith(name)),
        "python_version": _FORMULA_PYTHON,
    }
    needed = []
    for text in release.project["dependencies"]:
        each = Requirement(text)
        if each.marker is None or each.marker.evaluate(system):
            needed.append(f"{each.name}{each.specifier}")
    return needed


def _resources(wheels: Iterable[tuple[str, str, str]], indent: str) -> list[str]:
    return [
        f"{indent}{line}".rstrip()
        for name, address, digest in wheels
        for line in (
            f'resource "{name}" do',
            f'  url "{address}", using: :nounzip',
            f'  sha256 "{digest}"',
            "end",
            "",
        )
    ]


def container(release: Release) -> list[Path]:
    """Copy the container file."""
    return [Path(shutil.copy(ROOT / "deploy" / "Dockerfile", release.extra / "Dockerfile"))]


def tag_message(release: Release) -> list[Path]:
    """Write the message of the tag: the section of the changelog, without lines that begin with #."""
    _, text = section(release.version)
    lines = [re.sub(r"^#+ (.*)", r"\1:", line) for line in text.splitlines()]
    file = release.extra / "tag-message.txt"
    file.write_text(f"qmd {release.version}\n\n" + "\n".join(lines).strip() + "\n", encoding="utf-8")
    return [file]


def section(version: str) -> tuple[str, str]:
    """Return the heading and text of a version in the changelog, or of [Unreleased] if that has text."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\[.*)$", changelog, flags=re.MULTILINE)[1:]
    found = dict(zip(parts[::2], parts[1::2], strict=True))
    return next(
        (title, text)
        for title, text in found.items()
        if (title.startswith("[Unreleased]") and text.strip()) or title.startswith(f"[{version}]")
    )


def sums(release: Release) -> list[Path]:
    """Write the SHA-256 of every file."""
    files = sorted(each for each in release.dist.rglob("*") if each.is_file())
    file = release.extra / "SHA256SUMS"
    lines = [f"{sha256(each)}  {each.relative_to(release.dist).as_posix()}\n" for each in files]
    file.write_text("".join(lines), encoding="utf-8")
    return [file]


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def as_json(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"


def _zip(file: Path, contents: Mapping[str, bytes]) -> Path:
    """Write a zip file that is the same whenever its contents are."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, data)
    return file


#: The parts of a release, in the order in which they are made.
ARTEFACTS = {
    "wheel and sdist": packages,
    "SBOM": sbom,
    "MCP bundle": bundle,
    "server.json": server_json,
    "Claude plugin": plugin,
    "Homebrew formula": formula,
    "container file": container,
    "message of the tag": tag_message,
    "sums": sums,
}
