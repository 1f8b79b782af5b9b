"""What MEAN and LAN have in common: neighbourhoods, projections, the translational decoder, training and scoring."""
