"""Who is who before anything is asked: ComplEx embeddings of the background's entities and relations."""
