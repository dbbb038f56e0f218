"""Rules about paths: which files may be read, and which changed, asked about, or only proposed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from memoranda.errors import InvalidGlobError, MemorandaError
from memoranda.files.globbing import Glob, compile_glob

Operation: TypeAlias = Literal["read", "write"]
Mode: TypeAlias = Literal["allow", "deny", "interrupt", "propose"]

# What two rules that both apply come to: the later word here has the say.
_STRICTNESS: Final[tuple[Mode, ...]] = ("allow", "interrupt", "propose", "deny")
_REMEDY = 'Write for example FilesystemPermission(operations=["write"], paths=["/policies/**"], mode="deny").'


class InvalidPermissionError(MemorandaError, ValueError):
    """A permission that cannot be meant."""


@dataclass(frozen=True)
class FilesystemPermission:
    """One rule. The first rule of a list that matches an operation and a path decides; without one it is allowed.

    Args:
        operations: `"read"` (ls, read, grep, glob, download, history), `"write"` (everything that changes), or both.
        paths: Glob patterns of absolute paths: `*`, `**`, `?`, `[…]` and `{a,b}`. Wildcards reach dot names. A pattern
            that ends in `/**`, or in a slash, is the folder itself with everything below it.
        mode: `"allow"`; `"deny"`; `"interrupt"`: a person is asked before a change lands; `"propose"`: a change becomes
            a proposal, which a reviewer accepts or rejects later.

    Raises:
        InvalidPermissionError: A path is not absolute, climbs or is no pattern, or a mode does not fit its operations.

    Example:
        >>> FilesystemPermission(["write"], ["/policies/**"], "deny").mode
        'deny'
    """

    operations: Sequence[Operation]
    paths: Sequence[str]
    mode: Mode = "allow"

    def __post_init__(self) -> None:
        operations, paths = _listed("operations", self.operations), _listed("paths", self.paths)
        object.__setattr__(self, "operations", operations)
        object.__setattr__(self, "paths", paths)
        unknown = [operation for operation in operations if operation not in ("read", "write")]
        if unknown or not operations:
            raise InvalidPermissionError(f"The operations {list(operations)!r} are not 'read' or 'write'.", _REMEDY)
        if self.mode not in _STRICTNESS:
            raise InvalidPermissionError(f"The mode {self.mode!r} is none of {', '.join(_STRICTNESS)}.", _REMEDY)
        if "read" in operations and self.mode in ("interrupt", "propose"):
            raise InvalidPermissionError(
                f"The mode {self.mode!r} is about changes; reading can only be allowed or denied.",
                'Give it operations=["write"], and reading a rule of its own.',
            )
        if not paths:
            raise InvalidPermissionError("The rule has no paths, so it would never apply.", _REMEDY)
        for path in paths:
            compiled_rule(path)


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidPermissionError(f"{name}={given!r} is no list.", _REMEDY)
    return tuple(cast("Iterable[Any]", given))


def compiled_rule(pattern: str) -> Glob:
    """The compiled form of a path pattern of a rule.

    Args:
        pattern: An absolute path with wildcards.

    Raises:
        InvalidPermissionError: It is not absolute, climbs, or is no pattern.
    """
    if not isinstance(pattern, str) or not pattern.startswith("/"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidPermissionError(f"The path {pattern!r} of a rule does not start with '/'.", _REMEDY)
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if any(segment in ("..", "~") for segment in segments) or pattern.startswith("/~"):
        raise InvalidPermissionError(f"The path {pattern!r} of a rule holds '..' or '~'.", _REMEDY)
    folder = ["**"] if pattern.endswith("/") else []
    try:
        return compile_glob("/" + "/".join([*segments, *folder]), dotmatch=True)
    except InvalidGlobError as error:
        raise InvalidPermissionError(f"The path of a rule: {error.cause}", error.remedy) from error


def rule_matches(glob: Glob, path: str) -> bool:
    """Whether a rule's pattern means a canonical path; `/notes/**` means the folder `/notes` too."""
    relative = path[1:]
    return glob.matches(relative) or (bool(relative) and glob.matches(relative + "/"))


def permissions_of(given: Iterable[Any] | None) -> tuple[FilesystemPermission, ...]:
    """Permissions of ours from what may be given for them.

    Args:
        given: Ours, Deep Agents' (anything with `operations`, `paths` and `mode`), or mappings with these keys.

    Returns:
        The rules, in their order.

    Raises:
        InvalidPermissionError: One of them is none of these.
    """
    return tuple(_permission_of(one) for one in given or ())


def _permission_of(one: Any) -> FilesystemPermission:
    if isinstance(one, FilesystemPermission):
        return one
    if isinstance(one, Mapping):
        fields = dict(cast("Mapping[str, Any]", one))
        unknown = fields.keys() - {"operations", "paths", "mode"}
        if unknown or not {"operations", "paths"} <= fields.keys():
            raise InvalidPermissionError(f"{one!r} is no permission.", _REMEDY)
        return FilesystemPermission(**fields)
    try:
        return FilesystemPermission(one.operations, one.paths, one.mode)
    except AttributeError as error:
        raise InvalidPermissionError(f"{one!r} is no permission.", _REMEDY) from error


class Rules:
    """Permissions in the order in which they decide, ready to be asked."""

    def __init__(self, permissions: Iterable[FilesystemPermission]) -> None:
        self.permissions = tuple(permissions)
        compiled = [(rule, [compiled_rule(path) for path in rule.paths]) for rule in self.permissions]
        self._rules: dict[Operation, list[tuple[Mode, list[Glob]]]] = {
            operation: [(rule.mode, globs) for rule, globs in compiled if operation in rule.operations]
            for operation in ("read", "write")
        }

    def restrict(self, operation: Operation) -> bool:
        """Whether any path is not simply allowed."""
        return any(mode != "allow" for mode, _ in self._rules[operation])

    def mode(self, operation: Operation, path: str) -> Mode:
        """What the first matching rule says about a canonical path."""
        for mode, globs in self._rules[operation]:
            if any(rule_matches(glob, path) for glob in globs):
                return mode
        return "allow"


def strictest(modes: Iterable[Mode]) -> Mode:
    """What several decisions about one operation come to."""
    found: Mode = "allow"
    for mode in modes:
        if _STRICTNESS.index(mode) > _STRICTNESS.index(found):
            found = mode
    return found
