"""From a file to numbers with names: tables, dates, time axes, data sets, and the units of each column.

- `columns`: what a fitted model keeps of its data. `dataset`: arrays with names and units, and splits of them.
- `source`, `records`: a path into text, text into rows. `table`, `reading`: rows into columns, columns into numbers.
- `numbers`, `doubts`: which marks are decimal, and what may have been misread. `dates`, `timeaxis`: when.
- `datasets`: data by name. `forecast`: predictions as a table. `messages`: pieces of messages.

pandas is used here only. May import `base` and `predictive`.
"""
