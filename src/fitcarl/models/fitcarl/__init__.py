"""The paper's equations: who the new entity is, where the agent has been, and what it does next."""
