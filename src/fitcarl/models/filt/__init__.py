"""FILT (Ding et al. 2022): an unseen entity is a sum of messages from its support facts, weighted by time."""
