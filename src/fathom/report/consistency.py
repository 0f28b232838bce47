"""stub"""

from typing import Any


def settled(words: Any, facts: Any, checks: Any) -> Any:
    return words
