"""Tensor factorization models: one file per score function, one trainer.

complex: the score function of ComplEx and its training (pre-trains the embeddings of ``fitcarl``); loss: filtered
softmax and N3 regularization, shared by score functions; triples: distinct (entity, relation) pairs with their answers,
the training data; embeddings: the result and its file; cache: trained embeddings by dataset, settings and seed;
quality: filtered MRR on the training facts. Further score functions (BiQUE, TNTComplEx, TeLM, TeRo) belong here.
"""
