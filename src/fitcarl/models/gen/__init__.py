"""GEN (Baek et al. 2020): an unseen entity is the mean of relation-specific messages from its support facts."""
