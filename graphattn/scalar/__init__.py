"""The second seed: attention on scalars that know their gradients."""
