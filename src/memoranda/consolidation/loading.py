"""Consolidators by the name that a command line gives them: `app.py:consolidator`, or `package.module:consolidator`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from memoranda.errors import MemorandaError

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator
    from memoranda.store.store import MemoryStore

_HOW = "Name it as app.py:consolidator, or as package.module:consolidator."
_NAMED = 5


class ConsolidatorNotLoadedError(MemorandaError, ValueError):
    """What a command line names as a consolidator cannot be imported, or is none."""


def load_consolidators(reference: str, store: Callable[[], MemoryStore]) -> list[Consolidator]:
    """Import the consolidators that a text names.

    Args:
        reference: A file or a module, a colon, and a name in it: `app.py:consolidator`, `package.module:consolidator`.
            What it names is a `Consolidator`, several of them in a list, or a function that makes them, called with
            the store if it takes an argument.
        store: Gives the store that such a function is called with.

    Returns:
        The consolidators, one at least.

    Raises:
        ConsolidatorNotLoadedError: There is no such file, module or name; importing it fails; or it is something else.

    Example:
        >>> load_consolidators("app.py", None)
        Traceback (most recent call last):
            ...
        memoranda.consolidation.loading.ConsolidatorNotLoadedError: 'app.py' says no name after a colon. Name it as \
app.py:consolidator, or as package.module:consolidator.
    """
    place, _, name = reference.rpartition(":")
    if not place or not name or "/" in name or "\\" in name:
        raise ConsolidatorNotLoadedError(f"{reference!r} says no name after a colon.", _HOW)
    return _consolidators(reference, _named(_imported(place), place, name), store)


def _imported(place: str) -> ModuleType:
    """The module of a file, or of a name."""
    path = Path(place).expanduser()
    by_file = path.suffix == ".py" or "/" in place or "\\" in place
    if by_file and not path.is_file():
        raise ConsolidatorNotLoadedError(f"There is no file {place}.", f"Check the path. {_HOW}")
    # What stands beside it can be imported, as if it were run.
    beside = str(path.resolve().parent if by_file else Path.cwd())
    if beside not in sys.path:
        sys.path.insert(0, beside)
    try:
        return _from_file(path) if by_file else importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and not by_file and f"{place}.".startswith(f"{error.name}."):
            raise ConsolidatorNotLoadedError(
                f"There is no module {error.name}.",
                f"Run it where {place} can be imported, or name its file. {_HOW}",
            ) from error
        raise _failed(f"Importing {place}", error) from error
    except MemorandaError as error:
        raise ConsolidatorNotLoadedError(f"Importing {place} fails: {error.cause}", error.remedy) from error
    except (Exception, SystemExit) as error:
        raise _failed(f"Importing {place}", error) from error


def _from_file(path: Path) -> ModuleType:
    """Import a file under the name that it would have beside itself, once."""
    path = path.resolve()
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    name = path.stem if known is None else f"memoranda_loaded_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConsolidatorNotLoadedError(f"{path} is no Python file.", _HOW)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _failed(what: str, error: BaseException) -> ConsolidatorNotLoadedError:
    """The error of code that raised, with the line of it."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in own if not frame.filename.endswith("consolidation/loading.py")]
    where = f" at line {own[-1].lineno} of {own[-1].filename}" if own else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" at line {error.lineno} of {error.filename}"
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    said = " ".join(said.split()).rstrip(".")
    return ConsolidatorNotLoadedError(
        f"{what} fails{where} with {type(error).__name__}{f': {said}' if said else ''}.",
        "Mend it there.",
    )


def _named(module: ModuleType, place: str, name: str) -> Any:
    """What a module calls so; dots lead into it."""
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConsolidatorNotLoadedError(f"{place} has no {name}.", _meant(module, place, name))
        found = getattr(found, part)
    return found


def _meant(module: ModuleType, place: str, name: str) -> str:
    """What else there is in a module that could have been meant."""
    from memoranda.consolidation.consolidator import Consolidator

    own = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    made = [key for key, value in own.items() if isinstance(value, Consolidator)]
    close = made or get_close_matches(name, own, n=1)
    if not close:
        return f"Define it there: {name} = Consolidator(…)."
    more = ", and more" if len(close) > _NAMED else ""
    return f"Did you mean {', '.join(f'{place}:{key}' for key in close[:_NAMED])}{more}?"


def _consolidators(reference: str, found: Any, store: Callable[[], MemoryStore]) -> list[Consolidator]:
    from memoranda.consolidation.consolidator import Consolidator

    made = found
    if callable(found) and not isinstance(found, type):
        made = _made(reference, found, store)
    several = list(cast("Iterable[Any]", made)) if isinstance(made, (list, tuple)) else [made]
    for each in several:
        if not isinstance(each, Consolidator):
            how = "returns" if made is not found else "is"
            wrapped = f" If it does the work itself: {_wrapped(found)}" if made is not found else ""
            raise ConsolidatorNotLoadedError(
                f"{reference} {how} {_described(each)}, and no Consolidator.",
                f"Name a Consolidator, a list of them, or a function of the store that makes one.{wrapped}",
            )
    if not several:
        raise ConsolidatorNotLoadedError(f"{reference} holds no consolidator.", "Put at least one into it.")
    return cast("list[Consolidator]", several)


def _made(reference: str, function: Callable[..., Any], store: Callable[[], MemoryStore]) -> Any:
    """What a function makes, given the store if it takes one."""
    try:
        takes = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):  # some callables do not say
        takes = []
    if len(takes) > 1:
        raise ConsolidatorNotLoadedError(
            f"{reference} is a function of {', '.join(parameter.name for parameter in takes)}.",
            "Let it take the store and nothing else, and return a Consolidator.",
        )
    if takes and _is_task(takes[0]):  # it is not called: it may change something
        raise ConsolidatorNotLoadedError(
            f"{reference} is a function of a task, which does the work of a consolidator, and is none itself.",
            _wrapped(function),
        )
    arguments = {} if not takes else {takes[0].name: store()}
    try:
        positional = takes and takes[0].kind is takes[0].POSITIONAL_ONLY
        return function(*arguments.values()) if positional else function(**arguments)
    except MemorandaError:
        raise
    except Exception as error:
        failed = _failed(reference, error)
        if isinstance(error, AttributeError) and error.obj is not None and error.obj in arguments.values():
            raise ConsolidatorNotLoadedError(
                failed.cause, f"It was called with the store. {_wrapped(function)}"
            ) from error
        raise failed from error


def _is_task(parameter: inspect.Parameter) -> bool:
    from memoranda.consolidation.task import Task

    kind: Any = parameter.annotation
    said = kind.rpartition(".")[2].strip("'\"") if isinstance(kind, str) else kind
    return said in (Task, "Task") or (kind is parameter.empty and parameter.name == "task")


def _wrapped(function: Any) -> str:
    """How a function that does the work becomes a consolidator."""
    name = getattr(function, "__name__", "work")
    return f"Wrap it: Consolidator({name}, store=…, target=…)."


def _described(value: Any) -> str:
    return "None" if value is None else "a class" if isinstance(value, type) else f"a {type(value).__name__}"
