"""What a page states, as frozen dataclasses of plain values: no arithmetic on models, and no sentences.

- `setting`: the inputs with their units and dates, the target. `part`: what one part is made of and what it measures.
- `whole`: what is measured of the model, and what its checks found.
- `fold`: a cycle within one period. `anomaly`: observations that do not fit.

May import `numbers`.
"""
