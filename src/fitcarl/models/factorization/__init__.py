"""Tensor factorization: ComplEx and its trainer, which pre-trains the embeddings of ``fitcarl``.

complex: the score function and its training loop; loss: filtered
softmax and N3 regularization, shared by score functions; triples: distinct (entity, relation) pairs with their answers,
the training data; embeddings: the result and its file; cache: trained embeddings by dataset, settings and seed;
quality: filtered MRR on the training facts. The trainer is written for the score function of ComplEx and facts without
time; a further score function (BiQUE, TNTComplEx, TeLM, TeRo) becomes a file beside it, and what both trainers need
moves to a file of its own.
"""
