"""The numbers behind the page: every part of a model taken by itself, measured and checked."""
