"""The pictures of the page, as SVG."""
