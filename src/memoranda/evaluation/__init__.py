"""How much of what is asked for is recalled: conversations with questions whose evidence is known, asked of a store.

Room by room: `datasets` is their common shape, `loading` reads the files that their authors publish, `asking` records
them in a store and puts the questions to it, `measures` makes figures of the answers. `memoranda bench` prints them. No
language model takes part, and nothing is downloaded.

Example:
    >>> from memoranda import open_store
    >>> from memoranda.evaluation import Dataset, Message, Question, Scope, ask, record
    >>> said = (Message("m1", "I like green tea.", "monday"), Message("m2", "My flat is in Oslo.", "monday"))
    >>> asked = (Question("Where does she live, is it Oslo?", frozenset({"m2"}), "places"),)
    >>> own = Dataset("own", (Scope("ann", said, asked),))
    >>> with open_store("memory://") as store:
    ...     record(store, own)
    ...     ask(store, own).summary()["recall@5"]
    1.0
"""

from __future__ import annotations

from memoranda.evaluation.asking import Run, ask, record
from memoranda.evaluation.datasets import Dataset, Message, Question, Scope
from memoranda.evaluation.loading import SETS, load
from memoranda.evaluation.measures import Answer, by_category, figures

__all__ = [
    "SETS",
    "Answer",
    "Dataset",
    "Message",
    "Question",
    "Run",
    "Scope",
    "ask",
    "by_category",
    "figures",
    "load",
    "record",
]
