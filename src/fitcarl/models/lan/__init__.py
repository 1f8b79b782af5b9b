"""LAN: an entity is a sum of its neighbours, weighted for the relation asked about (Wang et al., 2019)."""
