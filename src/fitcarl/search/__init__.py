"""Walking the graph: at random while learning, with a beam while answering."""
