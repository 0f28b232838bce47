"""The page that explains a fitted model: facts are measured, put into words, drawn, and set in order.

- `model`: what the room needs of a model. `numbers`: how a reader writes numbers.
- `facts/`: what a page states, as plain values. `measure/`: where these values come from.
- `words/` and `prose`: facts in English. `draw/`: facts as SVG.
- `consistency`: is the page of one mind? `contents`: everything one page says. `view` puts it in order, `document` sets
  it in HTML, `plaintext` in Markdown and JSON.

A file imports from its own line and those above it. May import every room up to `search`.
"""
