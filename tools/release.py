"""Make and check everything of a release but its upload: `sh scripts/release.sh [--draft]`.

The wheel and the sdist are in `dist/`, everything else in `dist/release/`. Before that, the version, the
changelog, the stable interfaces and the results of bench/ must be ready; with `--draft` what is not ready is
only said. A program that checks a part and is not installed is named, or is an error without `--draft`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from release_artefacts import ARTEFACTS, ROOT, Release, run, section

_REVERSE_DNS = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draft", action="store_true", help="only say what is not ready")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder of the results")
    parser.add_argument("--tools", type=Path, required=True, help="an environment of the group 'release'")
    options = parser.parse_args()
    os.environ.setdefault("SOURCE_DATE_EPOCH", _commit_time())
    with tempfile.TemporaryDirectory() as work:
        release = Release.of(options.dist.resolve(), options.tools.absolute(), Path(work))
        open_points = [*_not_ready(release)]
        print(f"qmd {release.version}")
        shutil.rmtree(release.dist, ignore_errors=True)
        release.extra.mkdir(parents=True)
        for name, make in ARTEFACTS.items():
            made = ", ".join(f"{each.relative_to(release.dist)}" for each in make(release))
            print(f"{name}: {made}")
        for name, check in CHECKS.items():
            missing = check(release)
            open_points += [f"not checked by {missing}: {name}"] if missing else []
            print(f"{name}: {f'{missing} is not installed' if missing else 'ok'}")
    for point in open_points:
        print(f"open: {point}")
    if open_points and not options.draft:
        sys.exit("not ready for a release")
    print(f"To release: git tag -a -F {release.extra / 'tag-message.txt'} v{release.version}, then push it.")


def _commit_time() -> str:
    return run("git", "log", "-1", "--format=%ct").strip()


def _not_ready(release: Release) -> Iterator[str]:
    """Yield what must be done before a release."""
    title, _ = section(release.version)
    if not re.fullmatch(rf"\[{re.escape(release.version)}\] - \d{{4}}-\d\d-\d\d", title):
        yield f"CHANGELOG.md has '{title}' where a dated section of {release.version} must be"
    if not _is_snapshot(ROOT / "tests" / "stable" / release.version / "interfaces.json"):
        yield f"tests/stable/{release.version} is not what there is: python -m tests.stable.snapshot"
    if f"v{release.version}" in run("git", "tag", "--list").split():
        yield f"the tag v{release.version} exists: set a new version"
    report = subprocess.run(
        [sys.executable, ROOT / "bench" / "report.py", "--release"],
        capture_output=True,
        text=True,
        check=False,
    )
    if report.returncode:
        yield f"bench/report.py --release: {' '.join(report.stdout.split())} {report.stderr}".rstrip()
    if not release.own["repository"] or "OWNER" in release.own["mcp-name"]:
        yield "README.md has no address after 'git clone', or no owner in mcp-name"


def _is_snapshot(file: Path) -> bool:
    """Return whether a file has the interfaces of today."""
    code = "import json; from tests.stable.snapshot import interfaces; print(json.dumps(interfaces()))"
    return file.is_file() and json.loads(file.read_text(encoding="utf-8")) == json.loads(
        run(sys.executable, "-c", code)
    )


def _packages(release: Release) -> None:
    """Check the metadata and the contents of wheel and sdist."""
    release.tool("twine", "check", "--strict", release.wheel, release.sdist)
    release.tool("check-wheel-contents", release.wheel)
    with zipfile.ZipFile(release.wheel) as wheel, tarfile.open(release.sdist) as sdist:
        inside = {"qmd/py.typed", "qmd/_version.py"} - {*wheel.namelist()}
        outside = {"LICENSE", "README.md", "PKG-INFO"} - {name.split("/", 1)[-1] for name in sdist.getnames()}
    if inside or outside:
        sys.exit(f"missing in the packages: {', '.join(inside | outside)}")


def _sbom(release: Release) -> None:
    """Check that the list has the dependencies that pyproject.toml names for this system."""
    (file,) = release.extra.glob("*.cdx.json")
    named = {each["name"].lower() for each in json.loads(file.read_text(encoding="utf-8"))["components"]}
    if missing := {"apsw", "mcp", "numpy", "onnxruntime"} - named:
        sys.exit(f"the SBOM does not have {', '.join(missing)}")


def _bundle(release: Release) -> str | None:
    """Start the server of the bundle as a client does, and validate the manifest."""
    (packed,) = release.extra.glob("*.mcpb")
    folder, home = release.work / "bundle", release.work / "home"
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    config = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["server"]["mcp_config"]
    words = [
        word.replace("${__dirname}", str(folder)) for word in config["args"] if "user_config" not in word
    ]
    client = {"name": "release", "version": release.version}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    own = {
        "QMD_CONFIG_DIR": str(home),
        "QMD_INDEX_PATH": str(home / "index.sqlite"),
        "UV_PYTHON": sys.executable,
    }
    answer = release.tool(config["command"], *words, input=json.dumps(asked) + "\n", env=os.environ | own)
    if json.loads(answer.partition("\n")[0])["result"]["serverInfo"]["version"] != release.version:
        sys.exit(f"the server of the bundle answers: {answer}")
    if shutil.which("npm") is None:
        return "npm"
    judge = Path(run("sh", ROOT / "scripts" / "judges.sh", "mcpb").strip())
    run(judge / "node_modules" / ".bin" / "mcpb", "validate", folder / "manifest.json")
    return None


def _server_json(release: Release) -> None:
    """Check what the schema of the MCP registry says of the fields that are used."""
    described = json.loads((release.extra / "server.json").read_text(encoding="utf-8"))
    wrong = [
        name
        for name, right in {
            "name": _REVERSE_DNS.fullmatch(described["name"]) and len(described["name"]) <= 200,
            "description": 1 <= len(described["description"]) <= 100,
            "version": len(described["version"]) <= 255 and described["version"][0].isdigit(),
            "packages": all(
                {"registryType", "identifier", "transport"} <= set(each) for each in described["packages"]
            ),
        }.items()
        if not right
    ]
    if wrong:
        sys.exit(f"server.json: wrong {', '.join(wrong)}")


def _plugin(release: Release) -> str | None:
    """Validate the plugin as it is packed, and the marketplace of the repository."""
    folder = release.work / "plugin"
    (packed,) = release.extra.glob("*-plugin-*.zip")
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    if not re.fullmatch(r"[a-z0-9-]+", manifest["name"]) or manifest["version"] != release.version:
        sys.exit("the Claude plugin has a wrong name or version")
    claude = shutil.which("claude")
    if claude is None:
        return "claude"
    run(claude, "plugin", "validate", folder)
    run(claude, "plugin", "validate", ROOT)
    return None


def _formula(release: Release) -> str | None:
    """Check the syntax of the formula, and that every wheel has an address."""
    text = (release.extra / "qmd.rb").read_text(encoding="utf-8")
    if local := re.findall(r'url "(file:.*\.whl)"', text):
        sys.exit(f"the formula has files of this machine: {', '.join(local)}")
    ruby = shutil.which("ruby")
    if ruby is None:
        return "ruby"
    run(ruby, "-wc", release.extra / "qmd.rb")
    return None


def _container(release: Release) -> None:
    """Lint the container file."""
    release.tool("hadolint", "--failure-threshold", "info", release.extra / "Dockerfile")


#: How each part is checked. A check ends the run if the part is wrong, and returns a program that is missing.
CHECKS: dict[str, Callable[[Release], str | None]] = {
    "wheel and sdist": _packages,
    "SBOM": _sbom,
    "MCP bundle": _bundle,
    "server.json": _server_json,
    "Claude plugin": _plugin,
    "Homebrew formula": _formula,
    "container file": _container,
}


if __name__ == "__main__":
    main()
