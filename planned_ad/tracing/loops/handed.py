"""What forms have in common whose things lie in memory that one iteration leaves to the next."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...tape.tape import Buffer
from ..record.aliases import Refusal, Standing, copy_of
from ..record.recorder import Recorder
from ..record.storage import Storage


@dataclass(kw_only=True)
class Handed:
    """Of what lies in memory of its own: for which memories that stands."""

    depth: int
    standing: Standing
    refuse: Refusal
    storage: Storage | None = field(default=None, compare=False)

    def memory_for(self, recorder: Recorder, index: int, base: np.ndarray, buffer: Buffer) -> Storage:
        """The memory in an iteration, or after the loop."""
        storage = self.storage = Storage(base, buffer.line, buffer=buffer, depth=self.depth)
        storage.name = (recorder.scopes.indices, "copy", buffer.id)
        over = index not in recorder.scopes.indices
        recorder.copies.made(storage, copy_of(self.standing, self.refuse, over=over))
        return storage
