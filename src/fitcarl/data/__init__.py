"""Facts, vocabularies, calendars and datasets."""
