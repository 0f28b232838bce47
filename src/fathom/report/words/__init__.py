"""The words of the page: from facts to phrases and sentences."""
