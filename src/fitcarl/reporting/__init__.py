"""What a person looks at when a run is done."""
