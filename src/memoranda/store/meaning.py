"""The meaning of a query, as the embedder of a store gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class QueryMeaning(NamedTuple):
    """A query's vector and the index that it belongs to; without them, the reason why only words were searched.

    Args:
        index_id: The index whose vectors it can be compared with; None: none is ready.
        vector: The query's vector.
        floor: How alike unrelated texts are to this embedder, from 0 to 1.
        notice: What the reader of the answer should know.
    """

    index_id: int | None = None
    vector: NDArray[np.float32] | None = None
    floor: float = 0.0
    notice: str | None = None


EmbedQuery: TypeAlias = Callable[[str], QueryMeaning]
