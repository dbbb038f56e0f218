"""The package loads late, says what is missing, and the examples in its docstrings run."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import pytest

import memoranda.agents
import memoranda.agents.middleware
import memoranda.backends
from memoranda.agents import errors
from memoranda.backends import protocol
from memoranda.store import namespaces


@pytest.mark.parametrize(
    "name", sorted(each.name for each in walk_packages(memoranda.agents.__path__, "memoranda.agents."))
)
def test_examples(name: str) -> None:
    failed, _ = doctest.testmod(import_module(name))
    assert not failed


def test_every_public_name_loads() -> None:
    for package in (memoranda.agents, memoranda.agents.middleware):
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert set(package.__all__) <= set(dir(package))
        with pytest.raises(AttributeError):
            package.nothing  # noqa: B018
    assert memoranda.create_deep_agent is memoranda.agents.create_deep_agent


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_langchain_waits() -> None:
    assert run("import sys, memoranda, memoranda.agents; print('langchain' in sys.modules)") == "False"


def test_a_missing_extra_is_named() -> None:
    said = run(
        "import sys; sys.modules['langchain'] = None\n"
        "try:\n    from memoranda import create_deep_agent\n"
        "except ImportError as error:\n    print(error)"
    )
    assert said == 'Agents need the package langchain, which is not installed. pip install "memoranda[agents]"'


def test_what_a_caller_names_is_near() -> None:
    for name in ("UnknownModelError", "UnknownToolError", "InvalidSubagentError", "MissingPackageError"):
        assert getattr(memoranda.agents, name) is getattr(errors, name) and name in memoranda.agents.__all__
    for name in ("WriteFile", "EditFile", "AppendFile", "DeleteFile", "MoveFile"):
        assert getattr(memoranda.backends, name) is getattr(protocol, name) and name in memoranda.backends.__all__
    assert memoranda.InvalidNamespaceError is namespaces.InvalidNamespaceError
