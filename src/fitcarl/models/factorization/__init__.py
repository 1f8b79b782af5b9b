"""Tensor factorization: five transductive models with one trainer, and the pre-training of other models' embeddings.

Score functions, one file each: complex, distmult, bique, tntcomplex, telm (dot products; score_function is their
interface) and tero (a distance, with its own loss).

The models: trainable (the TrainableModel of all five), seen_facts (the training facts of each variant of ``sees``),
batches (grouped queries), objective (the interface between trainer and score functions), softmax (cross-entropy over
entities), adagrad, fold_in (rows of entities that were not trained) and scorer.

Pre-training: pretrain (the training loop), embeddings (the result and its file), cache (trained embeddings by dataset,
settings, seed and score function) and quality (filtered MRR on the training facts).

Both use loss (softmax, N3) and triples (distinct queries with their answers).
"""
