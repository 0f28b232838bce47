"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Facts = dict[str, Any]  # plain values, as a JSON object holds them


@contextmanager
def replacing(path: str | Path, error: type[Exception] = OSError) -> Iterator[Path]:
    """A path beside `path` to write to: it takes the place of `path` if all goes well, and is removed if not.

    The old file stays whole until the new one is complete. What goes wrong is raised as `error`, in one line.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as problem:
        raise error(f"cannot write {path}: {problem.strerror or problem}; nothing was changed") from None
    finally:
        temporary.unlink(missing_ok=True)
