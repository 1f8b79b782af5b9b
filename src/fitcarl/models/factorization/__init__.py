"""Tensor factorization: score functions, and the trainer that pre-trains embeddings of other models.

complex, distmult: score functions; pretrain: the training loop of embeddings; loss: filtered softmax and N3
regularization; triples: distinct (entity, relation) pairs with their answers, the training data; embeddings: the result
and its file; cache: trained embeddings by dataset, settings, seed and score function; quality: filtered MRR on the
training facts.
"""
