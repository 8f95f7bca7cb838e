"""A clone of git whose files are all its own: nothing in a folder may lead into another repository.

Git runs in it without executing programs that files in the clone name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain, product

from qmd.errors import SourceError
from qmd.processes import read, run
from qmd.sources.paths import in_words, is_inside
from qmd.text.regex import lazy
from qmd.text.wording import exact
from qmd.types import Collection

# A clone may contain a folder that looks like a bare repository, with a `config` that names programs. git
# must not use it. File system monitors and hooks are programs too.
_SAFE = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "submodule.recurse=false",
    # An index of packs names files of objects.
    "core.multiPackIndex=false",
)
#: The settings that a clone may make if it is pulled. All others may name programs, such as those that
#: connect, ask for passwords or filter files, or other files with settings.
_HARMLESS = lazy(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf|quotepath|compression|longpaths|sparsecheckout|sparsecheckoutcone|commitgraph"
    r"|worktree|untrackedcache|abbrev|whitespace)"
    r"|remote\..+\.(url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|promisor|partialclonefilter|gh-resolved)"
    r"|branch\..+\.(remote|pushremote|merge|rebase|description|vscode-merge-base)"
    r"|submodule\.(active|.+\.(url|active|branch|path))"
    r"|(user|author|committer)\.(name|email)|user\.signingkey|(commit|tag)\.gpgsign"
    r"|pull\.(ff|rebase)|push\.(default|autosetupremote|followtags)|fetch\.(prune|prunetags|parallel)"
    r"|http\.(.+\.)?(extraheader|sslverify|postbuffer|version|lowspeedlimit|lowspeedtime)"
    r"|credential\.(.+\.)?(username|usehttppath)|lfs\.(repositoryformatversion|.+\.(access|locksverify))"
    r"|(extensions|color|advice|status|feature)\..+|gc\.auto|maintenance\.(auto|strategy)|merge\.(ff|conflictstyle)",
    re.DOTALL,
)
#: The ways by which git may connect. Others are programs of their own.
_PROTOCOLS = "file:git:http:https:ssh"
#: Variables of git that name another repository, or change what a commit is. git sets some of them for
#: programs that it starts, such as a hook that runs `qmd`.
_INHERITED = {
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_INDEX_FILE", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_ATTR_SOURCE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
}
#: The parts of a repository that git reads. Links in its other folders, such as `hooks`, lead to no text.
_READ = ("HEAD", "packed-refs", "refs", "reftable", "objects", "shallow")
#: Files with the folders of other objects.
_ALTERNATES = ("alternates", "http-alternates")
#: The bytes of a file with a path that are read, and the seconds that git has for a setting.
_MAX_PATH, _TIMEOUT = 4096, 30
#: The bytes of settings that are read.
_MAX_SETTINGS = 1_000_000
#: The time limit of a `git pull`, in seconds.
PULL_TIMEOUT = 300


class Clone:
    """A clone whose `.git`, references and objects belong to it.

    Attributes:
        top: Its top folder, without links.

    Raises `SourceError` if it uses files of another repository, or git cannot be run.
    """

    def __init__(self, top: str) -> None:
        self.top = top
        self._marker = os.path.join(top, ".git")
        try:
            self._check()
        except (OSError, ValueError) as error:
            raise _refused(in_words(error), "'git status' there says whether git can read it") from error

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Return the words that run git in the clone, and its environment: without prompts, and safe."""
        settings = [part for setting in _SAFE for part in ("-c", setting)]
        return ["git", *settings, "-C", self.top, *arguments], _environment() | {
            "GIT_CEILING_DIRECTORIES": os.path.dirname(self.top),
            "GIT_GRAFT_FILE": os.devnull,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_WORK_TREE": self.top,
        }

    def _check(self) -> None:
        if os.pathsep in self.top:
            raise _refused(f"its folder has '{os.pathsep}' in its name, at which git would divide it")
        folder = self._marker
        if not os.path.isdir(folder):
            written = _line(folder)
            if not written.startswith("gitdir: "):
                raise _refused("its .git is no folder and names none")
            folder = os.path.realpath(os.path.join(self.top, written.removeprefix("gitdir: ")))
        common = self._common(folder)
        self._folders = own = {folder, common}
        for link in chain.from_iterable(_links(os.path.join(*path)) for path in product(own, _READ)):
            if not any(is_inside(os.path.realpath(link), place) for place in own):
                raise _refused("a link in its .git leads to files that do not belong to it")
        if _borrows(os.path.join(common, "objects")):
            raise _refused(
                "it borrows objects of another repository",
                "'git repack -a -d' copies them, then remove .git/objects/info/alternates",
            )

    def require_harmless(self) -> None:
        """Raise `SourceError` if a setting of the clone may name a program that git runs when it pulls."""
        names = {name for folder in self._folders for name in _settings(folder, "--name-only", "--list")}
        if harmful := sorted(name for name in names if not _HARMLESS.fullmatch(name)):
            raise SourceError(
                f"its .git/config sets {exact(', '.join(harmful))}, which may run a program",
                f"if you want that, set it in your own configuration of git, or run 'git pull' in {self.top}",
            )

    def _common(self, folder: str) -> str:
        """Return the folder of references and objects, if `folder` belongs to this clone."""
        commondir = os.path.join(folder, "commondir")
        if os.path.lexists(commondir):  # a linked worktree
            common = os.path.realpath(os.path.join(folder, _line(commondir)))
            back = os.path.join(folder, _line(os.path.join(folder, "gitdir")))
            if os.path.dirname(folder) == os.path.join(common, "worktrees") and self._is_marker(back):
                return common
        elif folder == self._marker or any(
            self._is_marker(os.path.join(folder, tree, ".git")) for tree in _work_trees(folder)
        ):
            return folder
        raise _refused(
            "its .git leads to files that do not belong to it",
            "if a worktree was moved, run 'git worktree repair' in it; if its files of git are apart, "
            "'git config core.worktree \"$PWD\"'",
        )

    def _is_marker(self, path: str) -> bool:
        return os.path.realpath(path) == self._marker


def work_tree(folder: str) -> str | None:
    """Return the top folder of the clone that contains `folder`; None if it is in no clone.

    The top folder is the nearest one with a `.git`, which `Clone` checks.
    """
    top = os.path.realpath(folder)
    while not _is_repository(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent
    return top


def _is_repository(path: str) -> bool:
    """Return whether git uses this `.git`. If git does not, it searches the parent folders."""
    if os.path.islink(path):
        return False
    # In a worktree or submodule, `.git` is a file that names the folder.
    return os.path.isfile(path) or os.path.lexists(os.path.join(path, "HEAD"))


def _links(path: str) -> Iterator[str]:
    """Yield the links at `path` and below it."""
    if os.path.islink(path):
        yield path
    elif os.path.isdir(path):
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield entry.path
                elif entry.is_dir():
                    yield from _links(entry.path)


def _borrows(objects: str) -> bool:
    """Return whether a folder of objects names others."""
    return any(
        line.strip() and not line.startswith(b"#")
        for path in (os.path.join(objects, "info", name) for name in _ALTERNATES)
        if os.path.isfile(path)
        for line in _bytes(path).splitlines()
    )


def _work_trees(folder: str) -> list[str]:
    """Return the folder of files that the settings of a submodule name, if any."""
    return _settings(folder, "--get", "core.worktree")


def _settings(folder: str, *asked: str) -> list[str]:
    """Return what the files of settings in a folder of git say. Raises `SourceError` if that fails."""
    environ = {**_environment(), "GIT_DIR": os.path.join(os.devnull, "none")}  # not the working folder's
    found = list[str]()
    for file in (os.path.join(folder, name) for name in ("config.worktree", "config")):
        words = ["git", "config", "-z", "--no-includes", f"--file={file}", *asked]
        try:
            done = read(words, environ=environ, timeout=_TIMEOUT, most=_MAX_SETTINGS)
        except OSError as error:
            raise SourceError(f"git cannot be run: {error.strerror}") from error
        if len(done.written) > _MAX_SETTINGS or (done.code not in (0, 1) and os.path.lexists(file)):
            raise _refused(f"'{os.path.basename(file)}' cannot be read")
        found += [os.fsdecode(each) for each in done.written.split(b"\0") if each]
    return found


def _environment() -> dict[str, str]:
    """Return the environment of git, in which nothing names another repository."""
    return {name: value for name, value in os.environ.items() if name not in _INHERITED}


def _line(path: str) -> str:
    """Return the path in a file, which is read as git does. Raises `ValueError` if it cannot be one."""
    return os.fsdecode(_bytes(path).rstrip(b"\r\n"))


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_MAX_PATH + 1)
    if len(data) > _MAX_PATH:
        raise ValueError(f"'{os.path.basename(path)}' is too long")
    return data


def _refused(reason: str, hint: str | None = None) -> SourceError:
    return SourceError(f"the repository of git is not read: {reason}", hint)


def pull(collection: Collection) -> str | None:
    """Run `git pull --ff-only` if the collection is in a clone, and return the last line of git's output.

    None if the collection is in no clone. Raises `SourceError` if git fails.
    """
    top = work_tree(collection.path)
    if top is None:
        return None
    try:
        clone = Clone(top)
        clone.require_harmless()
    except SourceError as error:
        raise SourceError(
            f"collection '{collection.name}': git pull failed: {error.message}", error.hint
        ) from None
    output, failure = _git(clone, "pull", "--ff-only", "--no-recurse-submodules")
    if failure is not None:
        raise SourceError(
            f"collection '{collection.name}': git pull failed: {failure}",
            f"run 'git pull' in {top} to see why; the folder was indexed without the pull",
        )
    return output


def _git(clone: Clone, *arguments: str) -> tuple[str, str | None]:
    """Run git in a clone. Return the last line of its output and the reason if it failed."""
    from subprocess import TimeoutExpired  # few updates pull

    words, environ = clone.command(*arguments)
    environ |= {"GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    try:
        done = run(words, environ=environ, timeout=PULL_TIMEOUT)
    except OSError as error:
        return "", f"git cannot be run: {error.strerror}"
    except TimeoutExpired:
        return "", f"it took more than {PULL_TIMEOUT} seconds"
    output, errors = done.stdout.strip(), done.stderr.strip()
    if done.returncode != 0:
        return "", (errors or output or "git gave no reason").splitlines()[-1]
    return (output or "up to date").splitlines()[-1], None
