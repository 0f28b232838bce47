"""From facts to English.

- `text`: lists, counts, and names of parts. `phrases`, `sentences`: parts of one input. `joint`: of several.
  `parameters`: their table. `tables`: the forecast and what does not fit, row by row.
- `verdicts`: one sentence for each check. `sure`: how the model was found, and how sure one can be.

May import `measure` and what it may import, never `draw`.
"""
