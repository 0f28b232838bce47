"""The report on a fitted model: facts first (numbers, in the reader's units), then the words that state them.

`facts.gather` measures a model, `prose` turns what it found into English; neither needs the other's insides.
"""
