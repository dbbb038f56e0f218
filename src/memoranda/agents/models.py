"""The model of an agent: from its name, with errors that say what to install or to write."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel

from memoranda.agents.errors import MissingPackageError, UnknownModelError


def chat_model(model: str | BaseChatModel | Any) -> BaseChatModel:
    """A chat model from its name, or as it is.

    Args:
        model: Such as `"anthropic:claude-sonnet-4-5"`, or a LangChain chat model.

    Raises:
        UnknownModelError: The name names no provider that LangChain knows, or its model cannot be set up.
        MissingPackageError: The provider's package is not installed.
    """
    if isinstance(model, BaseChatModel):
        return model
    if not isinstance(model, str) or not model.strip():
        raise UnknownModelError(
            f"{model!r} is no model.", 'Pass a name such as "anthropic:claude-sonnet-4-5", or a LangChain chat model.'
        )
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(model)
    except ImportError as error:
        package = _package_of(model, error)
        raise MissingPackageError(
            f"The model {model!r} needs the package {package}, which is not installed.", f"pip install {package}"
        ) from error
    except Exception as error:  # providers raise what they like, for a missing key above all
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        remedy = (
            'Name it as "provider:model", such as "anthropic:claude-sonnet-4-5" or "openai:gpt-5".'
            if isinstance(error, ValueError) and "provider" in str(error).lower()
            else "Check its name and its provider's key, or pass a LangChain chat model."
        )
        raise UnknownModelError(f"The model {model!r} cannot be set up: {first}.", remedy) from error


def _package_of(model: str, error: ImportError) -> str:
    """The package that LangChain asks for."""
    import re

    found = re.search(r"pip install (?:-U )?['\"`]?([A-Za-z0-9_.-]+)", str(error))
    if found:
        return found[1].rstrip(".")
    return (error.name or f"langchain-{model.partition(':')[0]}").replace("_", "-")


def window_of(model: BaseChatModel) -> int | None:
    """How many tokens a model takes, as its profile says; None where it says nothing."""
    profile: Any = getattr(model, "profile", None)
    size = profile.get("max_input_tokens") if profile else None
    return size if isinstance(size, int) else None
