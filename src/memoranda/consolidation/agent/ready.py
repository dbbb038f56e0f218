"""`ready_made`: the agent that merges what was said into what is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from memoranda.agents.models import chat_model
from memoranda.backends.steps import Steps, ask, awaiting, block, blocking
from memoranda.consolidation.agent.current import Current, working
from memoranda.consolidation.agent.prompts import mark, request, system_prompt
from memoranda.consolidation.agent.showing import shown_memory
from memoranda.consolidation.agent.supervising import Supervised, Supervision
from memoranda.consolidation.agent.tools import Work, work_tools
from memoranda.knowledge.errors import ModelCannotCallToolsError

if TYPE_CHECKING:
    from memoranda.consolidation.task import Task

LIMIT_STEPS: Final = 60
"""How many messages a model may send in one run unless told otherwise."""


def consolidate(agent: ReadyMade, task: Task) -> Steps[str]:
    """Merge what was said into the staged files.

    Args:
        agent: The agent.
        task: What was said, and the files.

    Returns:
        What changed, in one sentence.

    Raises:
        ModelOutputError: The model did not finish; what it has staged must not land.
    """
    tag = mark()
    work = Work(task)
    shown = yield from shown_memory(task.files, tag, without=work.log)
    work.whole.update(shown.whole)
    if not agent.graphs:  # compiling takes milliseconds, which an event loop should not wait for
        yield from block(lambda: agent.graphs.append(_graph(agent.model)))
    graph = agent.graphs[0]
    told = SystemMessage(system_prompt(agent.instructions, task.instructions))
    asked = HumanMessage(request(tag, shown.text, task.text, work.turns_there))
    # Each message takes four steps of the graph at most, and the supervision ends a run before these are used up.
    settings: RunnableConfig = {"max_concurrency": 1, "recursion_limit": 5 * agent.limit_steps + 20}
    with working(Current(work, Supervision(work, agent.limit_steps))):
        yield from ask(graph.invoke, {"messages": [told, asked]}, settings)
    assert work.summary is not None, "only an accepted finish ends the graph"
    return work.summary


@dataclass(frozen=True, slots=True)
class ReadyMade:
    """The ready-made agent of a consolidator; `ready_made` makes one."""

    model: BaseChatModel
    instructions: str | None
    limit_steps: int
    graphs: list[Any] = field(default_factory=list[Any], init=False, repr=False, compare=False)
    """Its graph, once it has been needed: each run goes through the same."""

    consolidate, aconsolidate = blocking(consolidate), awaiting(consolidate)

    def __call__(self, task: Task) -> str:
        """`consolidate`, as a consolidator calls a function."""
        return self.consolidate(task)


def ready_made(
    model: str | BaseChatModel, instructions: str | None = None, limit_steps: int = LIMIT_STEPS
) -> ReadyMade:
    r"""The agent that merges what was said into what is known.

    It sees the memory and the conversation, changes files with tools of its own, and says for every change which
    turns it comes from. Only its `finish` ends a run: what a model says in words, and what it writes that is no
    memory, goes back to it with what is wrong, a bounded number of times.

    Args:
        model: A LangChain chat model that can call tools, or its name.
        instructions: What it should keep, and how, besides the rules that it has.
        limit_steps: How many messages the model may send in one run.

    Returns:
        A function of a task; its method `aconsolidate` is the same for an event loop.

    Raises:
        UnknownModelError: The name names no model.
        MissingPackageError: The provider's package is not installed.
        ModelCannotCallToolsError: The model cannot call tools.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> from memoranda.consolidation import Consolidator
        >>> from memoranda.store.turns import Turn
        >>> from memoranda.testing.scripted import ScriptedChatModel, call
        >>> tea = call("write_file", path="/ann.md", content="- Drinks tea.\n", turns=["t1"])
        >>> model = ScriptedChatModel(script=[tea, call("finish", summary="Ann drinks tea.")])
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "monday", [Turn("m1", "user", "I drink tea.")])
        ...     files = StoreBackend(namespace=("ann",), store=store)
        ...     _ = Consolidator(ready_made(model), store=store, target=files).run(("ann",))
        ...     store.get(("ann",), "/ann.md").value["content"]
        '- Drinks tea.\n'
    """
    found = chat_model(model)
    if type(found).bind_tools is BaseChatModel.bind_tools:
        raise ModelCannotCallToolsError(
            f"The model {type(found).__name__} cannot call tools.", "Pass a chat model that can."
        )
    return ReadyMade(found, instructions, limit_steps)


def _graph(model: BaseChatModel) -> Any:
    return create_agent(
        model,
        work_tools(),
        middleware=[Supervised()],
        checkpointer=False,  # not even that of an agent inside which this runs
    )
