"""From facts to SVG.

- `scales`: from values to pixels, and ticks. `svg`: panels and the shapes in them.
- `series`: pictures of a series. `effects`: of several inputs. `residuals`: of the checks. `search`: of the path.

May import `words` and what it may import. Colours are in `templates/style.css`.
"""
