"""From facts to SVG.

- `scales`: from values to pixels, and ticks. `svg`: panels and the shapes in them.
- `hero`: the first picture of a series. `series`: its parts. `fold`: a cycle within one period. `hover`: the numbers
  behind a picture, for a script. `effects`: of several inputs. `residuals`: of the checks. `search`: of the path.

May import `words` and what it may import. Colours are in `templates/style.css`.
"""
