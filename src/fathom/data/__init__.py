"""From a file to numbers with names: tables, dates, time axes, data sets, and the units of each column.

- `columns`: what a fitted model keeps of its data. `dataset`: arrays with names and units, and splits of them.
- `table`, `reading`: text into columns, columns into numbers. `dates`, `timeaxis`: when. `datasets`: data by name.
- `forecast`: predictions as a table, for a file or a page.

pandas is used here only. May import `base` and `predictive`.
"""
