"""What a page states, as frozen dataclasses of plain values: no arithmetic on models, and no sentences.

- `setting`: the inputs with their units and dates, the target. `structure`: what a part is made of.
- `part`: what is measured of one part. `whole`: of the model. `checks`: what its checks found.

May import `numbers`.
"""
