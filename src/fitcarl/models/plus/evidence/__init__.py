"""Evidence of model ``plus``: what each source contributes to the score of an answer, and by which facts."""
