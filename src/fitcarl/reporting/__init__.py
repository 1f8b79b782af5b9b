"""Reports for people: terminal tables, Markdown, HTML and figures."""
