"""FITCARL, the paper's model, one file per part.

time: Eq. 1; entity_encoder: Eq. 2; history: Eq. 3; policy: Eq. 4 to 7 and 9; confidence: Eq. 8; concepts: Eq. 10 and
11; rewards and loss: Eq. 12. network combines the parts; rollout samples paths and episode runs one training task
(Algorithm 1); beam, explanation and scorer answer queries; action_scores and kernels multiply vectors with actions.
"""
