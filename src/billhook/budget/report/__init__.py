"""The report of a search: its numbers, charts and page."""
