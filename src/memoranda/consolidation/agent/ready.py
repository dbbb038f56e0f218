"""`ready_made`: the agent that merges what was said into what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from memoranda.agents.models import chat_model
from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.agent.prompts import mark, request, system_prompt
from memoranda.consolidation.agent.showing import shown_memory
from memoranda.consolidation.agent.supervising import Supervision
from memoranda.consolidation.agent.tools import Work, work_tools

if TYPE_CHECKING:
    from memoranda.consolidation.task import Task


@dataclass(frozen=True, slots=True)
class AgentWork:
    """What the agent says of a run that it finished.

    Args:
        summary: What changed, in one sentence.
        model: The model's name, where it says one.
        tokens_in: Tokens that the model read, as its provider counts; 0 where it does not.
        tokens_out: Tokens that it wrote.
    """

    summary: str
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class ReadyMade:
    """The ready-made agent; `ready_made` makes one."""

    model: BaseChatModel
    instructions: str | None
    limit_steps: int

    def steps(self, task: Task) -> Steps[AgentWork]:
        """Do a task on its staged files.

        Raises:
            ModelOutputError: The model did not finish; what it has staged must not land.
        """
        tag = mark()
        shown = yield from shown_memory(task.files, tag)
        ids = _ids(task)
        work = Work(task, ids, set(shown.whole))
        supervision = Supervision(work, self.limit_steps)
        agent: Any = create_agent(
            self.model,
            work_tools(work),
            system_prompt=system_prompt(self.instructions, task.instructions),
            middleware=[supervision],
        )
        asked = HumanMessage(request(tag, shown.text, task.text, ", ".join(ids)))
        # Steps of the graph, of which each message takes four at most; the supervision stops a run before that.
        settings: RunnableConfig = {"max_concurrency": 1, "recursion_limit": 5 * self.limit_steps + 20}
        yield from ask(agent.invoke, {"messages": [asked]}, settings)
        assert work.summary is not None, "only an accepted finish ends the graph"
        return AgentWork(work.summary, name_of(self.model), supervision.tokens_in, supervision.tokens_out)
