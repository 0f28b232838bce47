"""From facts to English.

- `text`: lists, counts and sentences. `titles`: names of parts. `phrases`, `sentences`: parts of one input. `joint`: of
  several. `parameters`: their table.
- `verdicts`: one sentence for each check. `sure`: how sure one can be. `search`: how the model was found.

May import `measure` and what it may import, never `draw`.
"""
