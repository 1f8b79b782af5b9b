"""MEAN: an entity is the mean of the transformed vectors of its neighbours (Hamaguchi et al., 2017)."""
