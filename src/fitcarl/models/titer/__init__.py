"""TITer: a walk from the query entity backwards in time, trained with REINFORCE.

kernels and action_scores: scores of the actions of a state; policy: the network; lag_distribution: the Dirichlet
distribution of rewards; rollout: sampled walks and their loss; beam, inductive_mean and scorer: answers; trainable: the
model for training and runs.
"""
