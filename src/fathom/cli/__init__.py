"""The command line: one file a command. `app` puts them together.

May import every other room; none imports this one.
"""
